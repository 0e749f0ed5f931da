"""What `decide` may ask for. Plain data: no callables, no clients.

Actions that change the status are written together, in one update, before the others are carried
out in the order they stand.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from controller.phases.phase import Phase
from controller.phases.phase import Reason as Reason
from controller.phases.root_cause import Decision, RootCause
from controller.phases.snapshot import Suspect


class Timer(StrEnum):
    """The fields of `Timers` that actions may start and clear."""

    ADMISSION = "admission"
    WARMUP = "warmup"
    FAILURE = "failure"
    DELETION_ON_FAILURE = "deletion_on_failure"
    FORCEFUL_DELETION = "forceful_deletion"
    RETRY_PAUSE = "retry_pause"
    SUCCESS = "success"
    STRAGGLERS = "stragglers"
    UNREADY = "unready"
    RECORDS = "records"
    STORE = "store"
    NO_WORKLOAD = "no_workload"
    QUEUE_REASON = "queue_reason"
    PODS_TOLD = "pods_told"


class DeletionMode(StrEnum):
    """How hard to delete."""

    GRACEFUL = "graceful"  # components, foreground, with their own grace periods
    FORCE_PODS = "force-pods"  # labelled pods, whatever grace they still have
    FORCE_COMPONENTS = "force-components"  # components once more, foreground, without grace
    # Components that stay though all that they own is proved gone, by a fresh list by owner UID:
    # background, without grace. The others of them are left alone.
    BACKGROUND_EMPTY = "background-empty"
    HELPERS = "helpers"  # components that only served the others
    STRAGGLERS = "stragglers"  # running pods of components that ended well
    OUTLIVED = "outlived"  # components whose pods do not go otherwise
    FORCE_LEAVING = "force-leaving"  # labelled pods that were asked to go and do not, as above
    FORCE_GHOSTS = "force-ghosts"  # those of them that others took the place of, too long ago


@dataclass(frozen=True, slots=True)
class MoveTo:
    """Go to another phase. A `message` says why where the reason alone does not.

    Users may have written parts of a message: the operator's log then has `logged` in its place.
    """

    phase: Phase
    reason: Reason
    message: str = ""
    spend_retry: bool = False
    logged: str | None = None


@dataclass(frozen=True, slots=True)
class SetCondition:
    """Set one of the AppWrapper's conditions. `logged` as for MoveTo."""

    type: str
    status: bool
    reason: Reason
    message: str = ""
    logged: str | None = None


@dataclass(frozen=True, slots=True)
class RecordPodSets:
    """Write `componentStatus` anew: one entry per component, with its pod sets."""


@dataclass(frozen=True, slots=True)
class PlanDeployment:
    """Write ahead what will be created: the next attempt, and every component's full name."""


@dataclass(frozen=True, slots=True)
class RecordDeployment:
    """Mark every component as created, or those of `indices` while another cannot be."""

    indices: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class RecordRemoval:
    """Mark every component as deleted, save with `keep` those that are kept and still there."""

    keep: bool = False


@dataclass(frozen=True, slots=True)
class RecordRefusal:
    """Mark the component of this index as not created, and those after it: they wait for it."""

    index: int
    message: str


@dataclass(frozen=True, slots=True)
class RecordEnds:
    """Mark the components of these indices as ended well, for when their objects are gone."""

    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RecordFailures:
    """Mark components as failed by their own word, for the same reason: index and message."""

    failures: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class RecordSuspect:
    """Remember the node on which a pod of this attempt failed first."""

    suspect: Suspect


@dataclass(frozen=True, slots=True)
class RecordRootCause:
    """Remember which failure made the others happen, and what followed from it.

    With Decision.NONE it healed, and only the history has it. `consequence` says what follows, for
    people. `non_recoverable`: the program's own word is why no retry follows.
    """

    root_cause: RootCause
    decision: Decision
    consequence: str = ""
    non_recoverable: bool = False


@dataclass(frozen=True, slots=True)
class StartTimer:
    """A waiting period begins now."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class ClearTimer:
    """A waiting period is over or no longer needed."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Keep the AppWrapper until its resources are gone. Carried out before the status is written.

    The only action that is: from the status on, resources may exist.
    """


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Let the AppWrapper go."""


@dataclass(frozen=True, slots=True)
class CreateComponents:
    """Create, in order, the components that are planned and not there."""


@dataclass(frozen=True, slots=True)
class DeleteComponents:
    """Ask for the deletion of what is left.

    `keep`: components whose user wants them kept (`Component.keep`) are left alone; with False
    they go like the others.
    """

    mode: DeletionMode = DeletionMode.GRACEFUL
    keep: bool = False


@dataclass(frozen=True, slots=True)
class EvictWorkload:
    """Ask Kueue to take the quota back and to assign other nodes.

    Only the version of the Workload is evicted whose nodes were looked at: `version` is its
    resourceVersion. `message` is for people who look at the Workload.
    """

    name: str
    uid: str
    version: str
    message: str


@dataclass(frozen=True, slots=True)
class Warn:
    """Tell whoever watches the AppWrapper about trouble. `logged` as for MoveTo."""

    reason: Reason
    message: str
    logged: str | None = None


@dataclass(frozen=True, slots=True)
class WakeAfter:
    """Look again after this long at the latest."""

    delay: timedelta


Action = (
    MoveTo
    | SetCondition
    | RecordPodSets
    | PlanDeployment
    | RecordDeployment
    | RecordRemoval
    | RecordRefusal
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
    | Warn
    | WakeAfter
)
Actions = tuple[Action, ...]
