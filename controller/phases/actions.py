"""The actions that `decide` returns. Plain data: no callables, no clients.

One update writes all actions that change the status. Then the others are carried out in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cached_property

from controller.phases.phase import Phase
from controller.phases.root_cause import Decision, RootCause
from controller.phases.snapshot import Misplacement, OwnWorkload, Suspect
from controller.reports.reason import Reason as Reason
from controller.reports.report import ConditionReport


class Timer(StrEnum):
    """The waiting periods that actions may start and clear, by their keys in `status.timers`."""

    ADMISSION = "admission"
    WARMUP = "warmup"
    FAILURE = "failure"
    DELETION_ON_FAILURE = "deletionOnFailure"
    FORCEFUL_DELETION = "forcefulDeletion"
    RETRY_PAUSE = "retryPause"
    SUCCESS = "successTTL"
    STRAGGLERS = "stragglers"
    UNSCHEDULABLE = "unschedulable"
    UNREADY = "unready"
    RECORDS = "records"
    STORE = "errorStore"
    NO_WORKLOAD = "noWorkload"
    QUEUE_REASON = "queueReason"
    PODS_REPORTED = "podsTold"

    @cached_property
    def field(self) -> str:
        """The name of the field of `Timers`."""
        return self.name.lower()


class DeletionMode(StrEnum):
    """How hard to delete."""

    GRACEFUL = "graceful"  # components, foreground, with their own grace periods
    FORCE_PODS = "force-pods"  # labelled pods, even if their grace period is not over
    FORCE_COMPONENTS = "force-components"  # components again, foreground, without grace
    # Components that still exist although a fresh list by owner UID proved that they own nothing:
    # background, without grace. Other components are not deleted.
    BACKGROUND_EMPTY = "background-empty"
    HELPERS = "helpers"  # components that only served the others
    STRAGGLERS = "stragglers"  # running pods of components that ended well
    WITH_COMPONENT = "with-component"  # pods that go only together with their components
    FORCE_LEAVING = "force-leaving"  # labelled pods that are already being deleted
    FORCE_CUT_OFF = "force-cut-off"  # the same on `nodes`, without waiting for their kubelets
    UNEXPECTED = "unexpected"  # objects that the phase and attempt cannot have


@dataclass(frozen=True, slots=True)
class MoveTo:
    """Move to another phase. `message` gives details that the reason lacks.

    If users wrote parts of the message, the operator's log contains `logged` instead.
    """

    phase: Phase
    reason: Reason
    message: str = ""
    spend_retry: bool = False
    logged: str | None = None


@dataclass(frozen=True, slots=True)
class SetCondition:
    """Set one of the AppWrapper's conditions. `logged` as for MoveTo. `report`: its data."""

    type: str
    status: bool
    reason: Reason
    message: str = ""
    logged: str | None = None
    report: ConditionReport | None = field(default=None, compare=False, repr=False)


def reporting(report: ConditionReport) -> SetCondition:
    """Set the condition to what `report` states."""
    text, logged = report.text(), report.logged()
    hidden = None if logged == text else logged
    return SetCondition(report.type, report.status, report.reason, text, hidden, report)


@dataclass(frozen=True, slots=True)
class RecordPodSets:
    """Replace `componentStatus`: one entry per component, with its pod sets."""


@dataclass(frozen=True, slots=True)
class PlanDeployment:
    """Record the next attempt and every component's full name before any create."""


@dataclass(frozen=True, slots=True)
class RecordDeployment:
    """Mark every component as created; with `indices` only these."""

    indices: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class RecordRemoval:
    """Mark every component as deleted; with `keep`, except kept components."""

    keep: bool = False


@dataclass(frozen=True, slots=True)
class RecordRefusal:
    """Mark the component of this index, and later ones that do not exist, as not created."""

    index: int
    message: str


@dataclass(frozen=True, slots=True)
class ChooseAnotherName:
    """Record another name for the component of this index: another object has its generated one."""

    index: int


@dataclass(frozen=True, slots=True)
class RecordEnds:
    """Mark the components of these indices as succeeded: their objects may disappear."""

    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RecordFailures:
    """Mark components that report a failure: their objects may disappear.

    `failures`: index and message.
    """

    failures: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class RecordSuspect:
    """Record the node of the pod that failed first in this attempt."""

    suspect: Suspect


@dataclass(frozen=True, slots=True)
class RecordRootCause:
    """Record the failure that caused the others, and its consequence.

    With Decision.NONE the failure healed, and only the history contains it. `consequence` is text
    for users. `non_recoverable`: no retry follows because the program recorded that none can help.
    """

    root_cause: RootCause
    decision: Decision
    consequence: str = ""
    non_recoverable: bool = False


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Start a waiting period now."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class ClearTimer:
    """Remove a waiting period that is over or no longer needed."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Keep the AppWrapper until its resources are gone.

    Only this action is carried out before the status update: after that update resources may exist.
    """


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Allow the API server to remove the AppWrapper."""


@dataclass(frozen=True, slots=True)
class CreateComponents:
    """Create the missing planned components in order."""


@dataclass(frozen=True, slots=True)
class DeleteComponents:
    """Delete the existing objects that `mode` selects; with `keep`, except kept components.

    `nodes`: for FORCE_CUT_OFF.
    """

    mode: DeletionMode = DeletionMode.GRACEFUL
    keep: bool = False
    nodes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EvictWorkload:
    """Make Kueue release the quota and assign other nodes.

    The Workload is evicted only if it still has the resourceVersion whose nodes were checked. The
    message is written to the Workload.
    """

    found: Misplacement


@dataclass(frozen=True, slots=True)
class ActivateWorkload:
    """Set `active` of this version of the Workload, and record that the controller did it."""

    workload: OwnWorkload
    active: bool


@dataclass(frozen=True, slots=True)
class Warn:
    """Emit a warning Event about the AppWrapper. `logged` as for MoveTo."""

    reason: Reason
    message: str
    logged: str | None = None


@dataclass(frozen=True, slots=True)
class WakeAfter:
    """Reconcile the AppWrapper again after at most this delay."""

    delay: timedelta


Action = (
    MoveTo
    | SetCondition
    | RecordPodSets
    | PlanDeployment
    | RecordDeployment
    | RecordRemoval
    | RecordRefusal
    | ChooseAnotherName
    | RecordEnds
    | RecordFailures
    | RecordSuspect
    | RecordRootCause
    | StartTimer
    | ClearTimer
    | AddFinalizer
    | RemoveFinalizer
    | CreateComponents
    | DeleteComponents
    | EvictWorkload
    | ActivateWorkload
    | Warn
    | WakeAfter
)
Actions = tuple[Action, ...]


def reported_after(
    reported: Mapping[str, ConditionReport], actions: Actions
) -> Mapping[str, ConditionReport]:
    """Return the last report of each condition after a status write."""
    after = dict(reported)
    for action in actions:
        if isinstance(action, SetCondition):
            after.pop(action.type, None)
            if action.report is not None:
                after[action.type] = action.report
    return after
