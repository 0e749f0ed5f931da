"""The report of `appwrapper explain` as data. `-o json` prints all of it. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from shared.waits.workload import Holder


class Situation(StrEnum):
    """The situation of an AppWrapper, as one constant that programs can compare."""

    NOT_OURS = "ManagedByAnother"
    NOT_SEEN = "NoControllerYet"
    SUSPENDED = "SuspendedByItsUser"
    HELD = "HeldByItsUser"
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
    RUN_AFTER_END = "PodsOutliveTheirEnd"
    UNHEALTHY = "Unhealthy"
    UNSCHEDULABLE = "PodsUnschedulable"
    GATED = "PodsGated"
    NO_IMAGE = "ImageCannotBePulled"
    CRASHING = "ContainersCrash"
    NOT_CONFIGURED = "ContainersCannotStart"
    NODE_UNREACHABLE = "NodeUnreachable"
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
    """A coming event. `at`: None if the time is unknown."""

    what: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A command for the user, and its purpose."""

    command: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaAmount:
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
class QueueReport:
    """The queue and the missing quota. `position`: from 1, in the ClusterQueue's order.

    `holders`: the workloads that hold this quota.
    """

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
    amounts: tuple[QuotaAmount, ...] = ()
    holders: tuple[Holder, ...] = ()
    holders_are_all: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLine:
    """One pod. `state`: its phase, or Kubernetes' reason why it does not run."""

    name: str
    node: str
    state: str
    restarts: int
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsReport:
    """The pods. `expected`: all. `wanted`: that should exist by now. `pods`: sorted by node."""

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
    """One attempt. None: no longer recorded."""

    number: int
    began: datetime | None = None
    ended: datetime | None = None
    reason: str | None = None
    message: str | None = None
    root_cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCauseReport:
    """The failure that caused the others of `attempt`. `outline`: a text with the pod and node.

    `at`: by the clock of the node. `recoverable`: None if the program did not record it.
    `decision`: `Retry`, `Terminal`, or `None` until it is decided. Other "" and None: unknown.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectNodeLine:
    """A suspect node: `pod` failed there, as the first one of `attempt`."""

    node: str
    pod: str
    attempt: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectNodes:
    """`setting`: the operator's suspectNodes. `effect`: a sentence about the effect on new pods."""

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
    """GPU-hours as `gpu_hours` defines them, None if unknown. `notes`: why, or which are bounds."""

    gpus: Decimal
    queued: Decimal | None = None
    productive: Decimal | None = None
    lost: Decimal | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """The effective periods. `assumed`: why the operator's defaults may differ from these."""

    admission_grace: timedelta
    warmup_grace: timedelta
    failure_grace: timedelta
    retry_pause: timedelta
    deletion_on_failure_grace: timedelta
    forceful_deletion_grace: timedelta
    success_ttl: timedelta
    assumed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainReport:
    """The report about one AppWrapper. `answer`: one sentence; all other fields support it."""

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
