"""What `appwrapper explain` found out, as data. `-o json` prints it whole. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum


class Situation(StrEnum):
    """What an AppWrapper is in: one word for programs, the reports' first key of meaning."""

    NOT_OURS = "ManagedByAnother"
    NOT_SEEN = "NoControllerYet"
    SUSPENDED = "SuspendedByItsUser"
    STARTING = "Starting"
    NO_KUEUE = "KueueNotInstalled"
    NOT_MANAGED = "NotManagedByKueue"
    NO_WORKLOAD = "NoWorkloadYet"
    DEACTIVATED = "Deactivated"
    NO_QUEUE = "LocalQueueMissing"
    QUEUE_STOPPED = "QueueStopped"
    QUEUE_INACTIVE = "ClusterQueueInactive"
    NAMESPACE_REFUSED = "NamespaceNotInClusterQueue"
    BACKS_OFF = "BacksOffAfterEviction"
    NEVER_FITS = "NeverFits"
    NO_FLAVOR = "NoMatchingFlavor"
    NOT_READABLE = "WaitsUnreadable"
    NO_SUCH_NODE = "LargerThanAnyNode"
    ADMISSION_CHECKS = "WaitsForAdmissionChecks"
    WAITS_FOR_QUOTA = "WaitsForQuota"
    WAITS_FOR_TURN = "WaitsForItsTurn"
    CANNOT_CREATE = "CannotCreateComponents"
    CREATING = "CreatingComponents"
    NAMESPACE_ENDS = "NamespaceTerminating"
    RESETS_PAUSED = "ResetsPausedByAdmin"
    BREAKER_OPEN = "EvacuationBreakerOpen"
    THROTTLED = "ResetThrottled"
    OUTLIVED = "PodsOutliveTheirEnd"
    UNHEALTHY = "Unhealthy"
    UNSCHEDULABLE = "PodsUnschedulable"
    GATED = "PodsGated"
    NO_IMAGE = "ImageCannotBePulled"
    CRASHING = "ContainersCrash"
    NOT_CONFIGURED = "ContainersCannotStart"
    PODS_MISSING = "PodsMissing"
    PODS_STARTING = "PodsStarting"
    RUNNING = "Running"
    RETRY_PAUSE = "RetryPause"
    DELETING = "DeletingResources"
    DELETION_BLOCKED = "DeletionBlocked"
    KEPT_AFTER_FAILURE = "FailedAndKept"
    FAILED = "Failed"
    SUCCEEDED = "Succeeded"


@dataclass(frozen=True, slots=True)
class Next:
    """Something that will happen; `at` None: nobody knows when."""

    what: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CommandHint:
    """What to type, and what for."""

    command: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """One resource in one flavor. Amounts are numbers in the resource's own unit."""

    resource: str
    flavor: str
    asked: Decimal
    nominal: Decimal
    used: Decimal
    free: Decimal
    most: Decimal
    is_short: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaHolder:
    """A workload that holds what this one waits for, and how much of it."""

    namespace: str
    kind: str
    name: str
    cluster_queue: str
    priority: int
    priority_class: str
    amounts: dict[str, Decimal]
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """What it waits in, and for. `position` counts from 1, in the ClusterQueue's own order."""

    local_queue: str
    cluster_queue: str | None = None
    cohort: str | None = None
    workload: str | None = None
    priority: int | None = None
    priority_class: str | None = None
    kueue_reason: str | None = None
    kueue_message: str | None = None
    position: int | None = None
    pending: int | None = None
    amounts: tuple[Amount, ...] = ()
    holders: tuple[QuotaHolder, ...] = ()
    holders_are_all: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLine:
    """One pod. `state` is its phase, or why it does not run, in Kubernetes' words."""

    name: str
    node: str
    state: str
    restarts: int
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsReport:
    """`wanted` of `expected` should be there by now; `pods` are in order of their nodes."""

    expected: int
    wanted: int
    running: int
    pending: int
    succeeded: int
    failed: int
    deleting: int
    pods: tuple[PodLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReport:
    """One attempt. What nobody remembers any more is None."""

    number: int
    began: datetime | None = None
    ended: datetime | None = None
    reason: str | None = None
    message: str | None = None
    root_cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextFailure:
    """The failure after the root cause. `gap` None: nobody knows how much later it was."""

    pod: str
    summary: str
    gap: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCauseReport:
    """The failure that made the others of `attempt` happen. `outline` says who failed, and where.

    `at` is by the clock of its node. `recoverable` None: the program did not say. `decision` is
    Retry, Terminal or, while nothing is decided, None. Empty text and None: not known.
    """

    attempt: int
    pod: str
    outline: str
    node: str = ""
    container: str = ""
    rank: int | None = None
    at: datetime | None = None
    code: str = ""
    origin: str = "Unknown"
    recoverable: bool | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    source: str = ""
    confidence: str = ""
    infrastructure: str = ""
    failed_pods: int = 1
    uri: str = ""
    decision: str = "None"
    next: NextFailure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectNodeLine:
    """A node that is avoided: `pod` of `attempt` failed there, before any other."""

    node: str
    pod: str
    attempt: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectNodes:
    """`setting` is the operator's suspectNodes, `effect` a sentence: what it means here."""

    setting: str
    effect: str
    nodes: tuple[SuspectNodeLine, ...]


@dataclass(frozen=True, slots=True)
class Happened:
    """One entry of the timeline."""

    at: datetime
    what: str
    is_trouble: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHours:
    """See `gpu_hours`. None where it cannot be known; `notes` say why, or what is a bound."""

    gpus: Decimal
    queued: Decimal | None = None
    productive: Decimal | None = None
    lost: Decimal | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """The effective values of its annotations. `assumed`: why the operator's may differ."""

    admission_grace: timedelta
    warmup_grace: timedelta
    failure_grace: timedelta
    retry_pause: timedelta
    deletion_on_failure_grace: timedelta
    forceful_deletion_grace: timedelta
    success_ttl: timedelta
    assumed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One AppWrapper, explained. `answer` is the one sentence; all else supports it."""

    namespace: str
    name: str
    seen_at: datetime
    situation: Situation
    answer: str
    phase: str
    since: datetime | None
    attempt: int
    retries: int
    retry_limit: int
    details: tuple[str, ...] = ()
    next: tuple[Next, ...] = ()
    queue: QueueReport | None = None
    pods: PodsReport | None = None
    root_cause: RootCauseReport | None = None
    attempts: tuple[AttemptReport, ...] = ()
    suspect_nodes: SuspectNodes | None = None
    timeline: tuple[Happened, ...] = ()
    gpu_hours: GpuHours | None = None
    periods: Periods | None = None
    commands: tuple[CommandHint, ...] = ()
    not_readable: tuple[str, ...] = ()
