"""Report why an AppWrapper waits for its quota, or how the last wait ended. Pure.

Kueue's texts are data here. No decision depends on a message.
"""

from datetime import timedelta
from typing import Final

from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from shared.api.lines import clipped
from shared.api.names import ANNOTATION_HOLD, CONDITION_QUOTA_RESERVED
from shared.api.times import format_duration
from shared.waits.queueing import with_kueues_reason
from shared.waits.workload import PodsReadyEviction

LONGEST_MESSAGE: Final = 1024  # bytes

_POSSIBLE_CAUSES: Final = (
    "Kueue makes no Workload for it, so nothing starts it. Possible causes: no"
    " PriorityClass has the name that a pod's priorityClassName gives; the namespace lacks a"
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


def reserved(message: str = "") -> ConditionReport:
    """Return that the quota is reserved. `message`: the last eviction by Kueue's timeout.

    It stays after the start: an AppWrapper that Kueue evicts repeatedly mostly runs.
    """
    return ConditionReport(CONDITION_QUOTA_RESERVED, True, Reason.RESUMING, message)


def nodes_unchanged(workload: str) -> ConditionReport:
    """Return that Kueue did not assign other nodes in time."""
    return reserved(
        f"Kueue did not evict Workload {workload} in time: the next attempt "
        "begins on the same nodes. Check that Kueue runs and that the controller may patch "
        "workloads/status"
    )


# It waits in its queue. `pending`: Kueue's reason.


def timed_out(eviction: str, pending: str = "") -> ConditionReport:
    """Return that its pods were not ready in time. `eviction`: the text about that."""
    text = _with_pending(eviction, pending)
    return ConditionReport(CONDITION_QUOTA_RESERVED, False, Reason.PODS_READY_TIMEOUT, text)


def awaits_other_nodes(pending: str = "") -> ConditionReport:
    """Return that the controller asked Kueue to assign other nodes."""
    asked = (
        "Kueue was asked to assign other nodes, so the quota is released. Kueue keeps its "
        "place in the queue; another workload can get the quota first"
    )
    text = _with_pending(asked, pending)
    return ConditionReport(CONDITION_QUOTA_RESERVED, False, Reason.REASSIGNMENT, text)


def waits_in_queue(evicted: str, pending: str) -> ConditionReport:
    """Return Kueue's reason. `evicted`: why Kueue evicted it before, as `reason: message`."""
    # Just after an eviction Kueue gives the same reason for both, and may append to one.
    why = evicted.partition(": ")[2].rstrip(". ")
    repeated = pending.startswith(why) or why.startswith(pending)
    shown = evicted and not (pending and why and repeated)
    text = _with_pending(f"Kueue evicted it ({evicted})." if shown else "", pending)
    return ConditionReport(CONDITION_QUOTA_RESERVED, False, Reason.SUSPENDED, text)


NOT_CONSIDERED: Final = ConditionReport(
    CONDITION_QUOTA_RESERVED,
    False,
    Reason.SUSPENDED,
    "Kueue has not considered it yet: it waits for its turn in the queue",
)
# It is queued and not suspended. Still true if it is suspended again: no write removes it.
AWAITS_POD_SET_INFOS: Final = ConditionReport(
    CONDITION_QUOTA_RESERVED,
    False,
    Reason.SUSPENDED,
    "it starts when Kueue writes podSetInfos; if Kueue never does, Kueue does not manage "
    "this namespace or AppWrappers",
)


HELD: Final = ConditionReport(
    CONDITION_QUOTA_RESERVED,
    False,
    Reason.HELD,
    f"a user holds it (annotation {ANNOTATION_HOLD}). It is out of the queue, and nothing starts "
    "until a user runs: appwrapper release",
)
# The reason stays: it shows that the Workload may be deactivated.
RELEASED: Final = ConditionReport(
    CONDITION_QUOTA_RESERVED,
    False,
    Reason.HELD,
    "a user released it. Kueue first suspends it because of the earlier hold, and then queues it "
    "again",
)


# It waits, and nothing would start it.


def queue_unusable(trouble: str) -> ConditionReport:
    """Return why its queue admits nothing."""
    text = clipped(trouble, LONGEST_MESSAGE)
    return ConditionReport(CONDITION_QUOTA_RESERVED, False, Reason.QUEUE_UNUSABLE, text)


def no_workload(unmanaged: str | None) -> ConditionReport:
    """Return why Kueue creates no Workload; if that is empty or None, the possible causes."""
    text = _POSSIBLE_CAUSES
    if unmanaged:
        text = f"{unmanaged}. Until an admin changes that, nothing starts it"
    text = clipped(text, LONGEST_MESSAGE)
    return ConditionReport(CONDITION_QUOTA_RESERVED, False, Reason.NO_WORKLOAD, text)


def _with_pending(before: str, pending: str) -> str:
    text = with_kueues_reason(before, pending) if pending else before
    return clipped(text, LONGEST_MESSAGE)
