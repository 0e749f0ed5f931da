"""Report why an AppWrapper waits for its quota, or how the last wait ended. Pure.

Kueue's texts are data here. No decision depends on a message.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.api.times import format_duration
from shared.waits.queueing import with_kueues_reason
from shared.waits.workload import PodsReadyEviction

LONGEST_MESSAGE: Final = 1024  # bytes

_POSSIBLE_CAUSES: Final = (
    "Kueue makes no Workload for it, so nothing starts it. Possible causes: the namespace lacks a"
    " label that managedJobsNamespaceSelector in Kueue's configuration asks for;"
    " integrations.frameworks there lacks workload.codeflare.dev/appwrapper; or Kueue does not run."
    " Ask an admin, or run: appwrapper explain"
)


def evicted_text(eviction: PodsReadyEviction, longest: timedelta) -> str:
    """Return that Kueue's timeout was too short, and which setting an admin can raise.

    `longest`: the AppWrapper's periods and retries together.
    """
    often = "once" if eviction.count == 1 else f"{eviction.count} times"
    return (
        f"Kueue evicted Workload {eviction.workload} ({often} so far): its pods were not "
        "ready within the timeout or recoveryTimeout of waitForPodsReady. This spent no retry."
        " The periods and retries of this AppWrapper add up to "
        f"{format_duration(longest)}; evacuations, and waits before resets and deletions, "
        "take longer. An admin can raise both timeouts in Kueue's configuration."
    )


# The quota is reserved.


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved(ConditionReport):
    """The quota is reserved. `eviction`: the text about the last eviction by Kueue's timeout.

    It stays after the start: an AppWrapper that Kueue evicts repeatedly mostly runs.
    """

    type = CONDITION_QUOTA_RESERVED
    status: bool = True
    reason: Reason = Reason.RESUMING
    eviction: str = ""

    def text(self) -> str:
        """Return the last eviction."""
        return self.eviction


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesUnchanged(ConditionReport):
    """Kueue did not assign other nodes in time."""

    type = CONDITION_QUOTA_RESERVED
    status: bool = True
    reason: Reason = Reason.RESUMING
    workload: str

    def text(self) -> str:
        """Return what follows, and what to check."""
        return (
            f"Kueue did not evict Workload {self.workload} in time: the next attempt "
            "begins on the same nodes. Check that Kueue runs and that the controller may patch "
            "workloads/status"
        )


# It waits in its queue. `pending`: Kueue's reason.


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut(ConditionReport):
    """Kueue evicted it because its pods were not ready in time. `eviction`: the text about that."""

    type = CONDITION_QUOTA_RESERVED
    status: bool = False
    reason: Reason = Reason.PODS_READY_TIMEOUT
    eviction: str
    pending: str = ""

    def text(self) -> str:
        """Return the eviction, then Kueue's reason."""
        return _with_pending(self.eviction, self.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitsOtherNodes(ConditionReport):
    """The controller asked Kueue to assign other nodes."""

    type = CONDITION_QUOTA_RESERVED
    status: bool = False
    reason: Reason = Reason.REASSIGNMENT
    pending: str = ""

    def text(self) -> str:
        """Return the request, then Kueue's reason."""
        asked = (
            "Kueue was asked to assign other nodes, so the quota is released. Kueue keeps its "
            "place in the queue; another workload can get the quota first"
        )
        return _with_pending(asked, self.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits(ConditionReport):
    """It waits. `evicted`: why Kueue evicted it before, as `reason: message`."""

    type = CONDITION_QUOTA_RESERVED
    status: bool = False
    reason: Reason = Reason.SUSPENDED
    evicted: str = ""
    pending: str = ""

    def text(self) -> str:
        """Return the eviction, then Kueue's reason."""
        # Just after an eviction Kueue gives the same reason for both, and may append to one.
        why = self.evicted.partition(": ")[2].rstrip(". ")
        repeated = self.pending.startswith(why) or why.startswith(self.pending)
        if not self.evicted or (self.pending and why and repeated):
            return _with_pending("", self.pending)
        return _with_pending(f"Kueue evicted it ({self.evicted}).", self.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotConsidered(ConditionReport):
    """Kueue has given no reason yet."""

    type = CONDITION_QUOTA_RESERVED
    status: bool = False
    reason: Reason = Reason.SUSPENDED

    def text(self) -> str:
        """Return the message for users."""
        return "Kueue has not considered it yet: it waits for its turn in the queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitsPodSetInfos(ConditionReport):
    """It is queued and not suspended. Still true if it is suspended again: no write removes it."""

    type = CONDITION_QUOTA_RESERVED
    status: bool = False
    reason: Reason = Reason.SUSPENDED

    def text(self) -> str:
        """Return the message for users."""
        return (
            "it starts when Kueue writes podSetInfos; if Kueue never does, Kueue does not manage "
            "this namespace or AppWrappers"
        )


# It waits, and nothing would start it.


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUnusable(ConditionReport):
    """Its queue admits nothing."""

    type = CONDITION_QUOTA_RESERVED
    status: bool = False
    reason: Reason = Reason.QUEUE_UNUSABLE
    trouble: str

    def text(self) -> str:
        """Return why."""
        return _bounded(self.trouble)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoWorkload(ConditionReport):
    """Kueue creates no Workload for it. `unmanaged`: why; empty or None if unknown."""

    type = CONDITION_QUOTA_RESERVED
    status: bool = False
    reason: Reason = Reason.NO_WORKLOAD
    unmanaged: str | None

    def text(self) -> str:
        """Return the cause, or the possible causes."""
        if not self.unmanaged:
            return _POSSIBLE_CAUSES
        return _bounded(f"{self.unmanaged}. Until an admin changes that, nothing starts it")


def _with_pending(before: str, pending: str) -> str:
    return _bounded(with_kueues_reason(before, pending) if pending else before)


def _bounded(message: str) -> str:
    text = message.encode()
    if len(text) <= LONGEST_MESSAGE:
        return message
    return f"{text[: LONGEST_MESSAGE - 3].decode(errors='ignore')}…"
