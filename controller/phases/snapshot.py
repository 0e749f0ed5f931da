"""The controller's observation of one AppWrapper at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from controller.phases.ask import Need, NotRead
from controller.phases.phase import Phase
from controller.phases.queueing import OwnWorkload as OwnWorkload
from controller.phases.queueing import Queueing as Queueing
from controller.phases.root_cause import RootCause
from controller.phases.silent_nodes import CutOff, UnreachablePods
from controller.phases.silent_nodes import Suspect as Suspect
from controller.reports.report import ConditionReport, is_news
from controller.reports.report import ConditionText as ConditionText
from shared.api.conditions import Terminal
from shared.api.objects import Resource
from shared.waits.workload import PodsReadyEviction

# The fault tolerance of one AppWrapper: its periods, its retries, its exit codes.


OFF: Final = "off"  # of `error_aggregation`


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTolerance:
    """Effective values: the operator's configuration, overridden by the AppWrapper's annotations.

    `retryable_exit_codes` empty means that every code not listed as terminal may be retried.
    """

    admission_grace: timedelta = timedelta(minutes=1)
    warmup_grace: timedelta = timedelta(minutes=5)
    failure_grace: timedelta = timedelta(minutes=1)
    unreachable_grace: timedelta = timedelta(minutes=2)  # zero: pods stay on an unreachable node
    fail_unschedulable: timedelta = timedelta(0)  # 0: never
    retry_pause: timedelta = timedelta(seconds=90)  # before the next attempt, spread out
    asked_retry_pause: timedelta = timedelta(seconds=90)  # the configured value
    retry_limit: int = 3
    deletion_on_failure_grace: timedelta = timedelta(0)
    forceful_deletion_grace: timedelta = timedelta(minutes=10)
    success_ttl: timedelta = timedelta(days=7)
    terminal_exit_codes: frozenset[int] = frozenset()
    retryable_exit_codes: frozenset[int] = frozenset()
    # The longest grace period of a pod: the operator's forceful deletion period, or its own one.
    longest_pod_grace: timedelta = timedelta(minutes=10)
    # Only the operator's configuration sets the following fields.
    stability_period: timedelta = timedelta(seconds=30)  # of a pod that crashed in place
    settle_period: timedelta = timedelta(seconds=5)  # readiness.py explains these two
    flap_period: timedelta = timedelta(seconds=75)
    remember_suspects: bool = True  # a failed attempt makes the node of its first failure a suspect
    error_aggregation: str = "earliest"  # or "default" (shown, but decides nothing), or "off"
    error_store: str = ""  # the name of a configured store; empty: none
    recorder: bool = False  # the controller starts the recorder in the pods
    record_settle: timedelta = timedelta(seconds=5)  # the wait for slow workers' records
    store_timeout: timedelta = timedelta(seconds=10)  # the wait for an answer of the error store

    def forbids(self, exit_code: int) -> str:
        """Return how the user's lists forbid a retry after `exit_code`; empty if they do not."""
        if exit_code in self.terminal_exit_codes:
            return "is in terminalExitCodes"
        if self.retryable_exit_codes and exit_code not in self.retryable_exit_codes:
            return "is not in retryableExitCodes"
        return ""


class Presence(StrEnum):
    """The state of a component's object. Absence from a cache proves none of these."""

    PLANNED = "planned"  # its name is recorded; this attempt has not created it yet
    PRESENT = "present"
    DELETING = "deleting"  # it exists, with a deletionTimestamp
    # It was created, but the controller cannot read it, or the API server does not serve its Kind.
    UNKNOWN = "unknown"
    GONE = "gone"  # it was created; a DELETED event or a live read proves that it is gone


class PodSetInfos(StrEnum):
    """The result of comparing Kueue's podSetInfos with the pod sets of all components."""

    ABSENT = "absent"
    COMPLETE = "complete"
    MISMATCHED = "mismatched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component. `reports`: its Kind reports how it ended, so its pods need not show it.

    `succeeded_pods`: the number of succeeded pods that the component reports, even if these are
    gone. `wanted_pods`: the number of pods that it wants by now; None: all that are expected.

    `helper`: it serves other components and never ends by itself (a TensorBoard), so the AppWrapper
    does not wait for its end.
    """

    name: str
    kind: str
    presence: Presence
    expected_pods: int = 0
    succeeded_pods: int = 0
    succeeded_indices: str = ""  # the indices of these pods, if it reports them (`0,2-5`)
    # Or by owner: the prefix of the owners' names, the number of owners, the pods of each owner.
    succeeded_by_owner: tuple[tuple[str, int, int], ...] = ()
    wanted_pods: int | None = None
    reports: bool = False
    endless: bool = False  # its Kind never ends by itself
    # Objects that it made remain after its end and replace deleted pods.
    has_surviving_children: bool = False
    helper: bool = False
    terminal: Terminal | None = None
    keep: bool = False  # it has no pods, and by its annotation survives resets and suspensions
    end_recorded: bool = False  # status shows already that it succeeded
    failure_recorded: bool = False  # status shows already that it failed
    message: str = ""  # reported by itself: why it failed, or the problem that blocks it
    invalid: bool = False  # it failed because its operator rejects it: no retry helps
    rejectable: bool = False  # its operator rejects it by an Event alone
    deletion_deadline: datetime | None = None  # its deletionTimestamp; None: not being deleted
    announced: bool = False  # status names it as planned, without the result of the create
    unreadable: str = ""  # why it cannot be read; then the other fields are as last seen
    # Its object, as deletions and counts need it. Without `uid` no object is known.
    uid: str = ""
    attempt: str = ""  # the object's label
    deleting: bool = False  # the object has a deletionTimestamp, whatever the presence
    idle: bool = False  # nothing makes pods for the object any more
    resource: Resource | None = None  # None: the API server does not serve its Kind
    watched: bool = True  # False: no watch reports changes of the object

    @property
    def exists(self) -> bool:
        """True if the component's object exists or may exist."""
        return self.presence in (Presence.PRESENT, Presence.DELETING, Presence.UNKNOWN)

    @property
    def makes_unseen(self) -> bool:
        """True if it is unreadable and has pods: it cannot be deleted and would recreate them."""
        unseen = self.presence is Presence.UNKNOWN and bool(self.unreadable)
        return unseen and self.expected_pods > 0


@dataclass(frozen=True, slots=True)
class TerminalExit:
    """The exit code of a failed pod's container that forbids a retry."""

    pod: str
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCounts:
    """The counts of the labelled pods of this AppWrapper and attempt.

    Each pod is in exactly one of `pending`, `running`, `deleting`, `succeeded`, `failed` and
    `unawaited`. Two sorts are not counted: replaced failed pods, and ended pods of components that
    are not awaited. A component is awaited until it succeeds, a helper never.
    `succeeded` includes pods that are gone, if they were seen to succeed or their component reports
    it. `loose_succeeded` counts only succeeded pods whose component does not report its end, and no
    pod that is being deleted: the deletion may have ended it.
    """

    expected: int = 0  # of the awaited components
    deferred: int = 0  # the expected pods that their components do not want yet
    staged: bool = False  # some component does not create all of its pods at once
    # The texts of this class are for users.
    pending: int = 0
    pending_named: str = ""  # the pending pods
    too_large: str = ""  # the request of a pod that no node of the cluster can hold
    no_node: str = ""  # the same by all that it requires, for 24 hours; only for failUnschedulable
    rejected: str = ""  # the pending pods that the scheduler or the kubelet rejects, and why
    ignored_by_scheduler: str = ""  # the pending pods that no scheduler has reported on, and why
    running: int = 0
    deleting: int = 0  # unfinished pods with a deletionTimestamp
    succeeded: int = 0
    failed: int = 0
    failed_named: str = ""  # the failed pods
    unawaited: int = 0  # unfinished pods of components that are not awaited
    stragglers: int = 0  # unfinished, not being deleted, of a component that succeeded or is gone
    newest_straggler: datetime | None = None  # its creation, if its component still exists
    loose_succeeded: int = 0
    terminal: TerminalExit | None = None
    # The pending pods with containers that crash repeatedly in place, or did until just now.
    unstable: int = 0
    # The pending pods on nodes that do not answer: they may run there, and none is missing.
    unreachable: int = 0
    # When the first of them counts as running if it keeps running; None: not by itself.
    stable_in: timedelta | None = None

    @property
    def wanted(self) -> int:
        """Return the number of pods that should exist by now or have succeeded."""
        return self.expected - self.deferred

    @property
    def ready(self) -> int:
        """Return the number of pods that run or succeeded."""
        return self.running + self.succeeded

    @property
    def existing(self) -> int:
        """Return the number of existing pods in any state: a deleted pod may end slowly."""
        return self.pending + self.running + self.deleting + self.succeeded + self.failed

    @property
    def under_way(self) -> int:
        """Return the number of pods that may use the reserved quota."""
        return self.pending + self.running + self.deleting + self.unawaited


@dataclass(frozen=True, slots=True)
class CreateProblem:
    """The reason why not all components could be created. `fatal`: a retry cannot help.

    `refused`: the index of a component that certainly does not exist, because no create was sent or
    the API server rejected it. None if the outcome is unknown, or if another object has the name.
    `taken`: the component and its name from generateName, which another object has.
    `first_at`: when this process saw the first of such failures in a row; None when fatal.
    """

    fatal: bool
    message: str
    retry_at: datetime | None = None  # not before then; None when fatal
    refused: int | None = None
    taken: tuple[int, str] | None = None
    first_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Evacuation:
    """Pods use a resource that a label of their node evacuates, or a device with such a taint.

    `message` names pods, nodes, labels and taints. `spends_retry`: a pod was bound to a node that
    already had the label or taint, so evacuations without a cost could repeat indefinitely.
    `resources`: the evacuated resources, and the drivers of the devices. `since`: when the first of
    these labels and taints was seen. `root_cause`: only if taints of devices are the only reason.
    """

    message: str
    spends_retry: bool = False
    resources: frozenset[str] = frozenset()
    since: datetime | None = None
    root_cause: RootCause | None = None


class HoldReason(StrEnum):
    """The reasons why no reset may begin now."""

    RATE = "rate"  # the cluster's resets a second are used up
    PAUSED = "paused"  # an admin set pauseResets
    BREAKER = "breaker"  # so many nodes turned bad at once that an admin must confirm


@dataclass(frozen=True, slots=True)
class ResetHold:
    """The wait of a reset. If `retry_in` is None, a change ends the wait.

    `message` should contain no number that changes by itself.
    """

    reason: HoldReason
    message: str
    retry_in: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Misplacement:
    """Nodes that Kueue assigned under a topology and that accept no new pods, named in `message`.

    `uid` and `version` (the resourceVersion) identify the Workload with the assignment. `evicted`:
    Kueue is evicting the Workload or replacing a node, and has not finished.
    """

    message: str
    workload: str
    uid: str
    version: str
    evicted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timers:
    """The start of each waiting period. Only `evolve` of timers.py changes these."""

    admission: datetime | None = None
    warmup: datetime | None = None
    failure: datetime | None = None
    deletion_on_failure: datetime | None = None
    forceful_deletion: datetime | None = None
    retry_pause: datetime | None = None
    success: datetime | None = None
    stragglers: datetime | None = None
    unschedulable: datetime | None = None  # since when no node can hold a pod
    # When a problem of the pods was last reported, or all wanted pods ran (readiness.py).
    unready: datetime | None = None
    # The two waits for evidence (reset_or_fail.py).
    records: datetime | None = None
    store: datetime | None = None
    # For waiting.py: since when no Workload exists, and when QuotaReserved last got a reason.
    no_workload: datetime | None = None
    queue_reason: datetime | None = None
    # When the message of PodsReady was last written, while it was False.
    pods_reported: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The input of `decide`.

    `unread`: the facts that this pass has not read; the fields that they fill have no meaning yet.
    `gone`: fresh reads proved that no component and no labelled pod exists. `conditions`: the
    types of the AppWrapper's conditions that are True. `condition_texts`: the text of each
    condition, True or not. `evacuation_hold`, `reset_hold`: why an evacuation, or another reset,
    must wait.
    `pods_fell`: after the admission period began, all wanted pods existed and later fewer did, or
    more became wanted. `blockers`: for users, the obstacles to a deletion. `forced_off`: the pods
    that are removed without confirmation from their node.
    """

    phase: Phase
    arguments: str = ""  # its name and namespace, as the command appwrapper reads them
    suspend: bool = False
    held: bool = False  # its user's annotation keeps it from running
    deletion_requested: bool = False
    finalizer: bool = False
    never_deployed: bool = False  # it is being deleted, and nothing was ever deployed
    foreign: bool = False  # another controller manages it
    other_finalizers: bool = False  # another client keeps the AppWrapper, too
    queued: bool = False  # it carries a queue-name label
    topology_workload: str = ""  # the name of the Workload in which Kueue assigned its nodes
    planned: bool = True  # status names every component to be created, and counts the attempt
    pod_set_infos: PodSetInfos = PodSetInfos.ABSENT
    conditions: frozenset[str] = frozenset()
    condition_texts: Mapping[str, ConditionText] = field(default_factory=dict)  # by type
    # The last report that this process wrote of a condition, by type; none after a restart.
    reported: Mapping[str, ConditionReport] = field(default_factory=dict)
    components: tuple[Component, ...] = ()
    pods: PodCounts = field(default_factory=PodCounts)
    labelled_pods: int = 0  # of every attempt, in any state
    stray_pods: bool = False  # some of them are not being deleted although no component exists
    gone: bool = False
    namespace_ending: bool = False
    create_problem: CreateProblem | None = None
    evacuation: Evacuation | None = None
    unreachable: UnreachablePods | None = None
    lost: UnreachablePods | None = None  # pods that failed or are gone, with their removed nodes
    cut_off: tuple[CutOff, ...] = ()
    suspect: Suspect | None = None  # None: no pod failed, or its node is not to blame
    root_cause: RootCause | None = None  # None: nothing failed, or a deletion ended the pods
    healed: RootCause | None = None  # the last root cause of this attempt, if it healed
    # The workload records its failures, and pods may still write records (phases/reset_or_fail.py).
    awaits_records: bool = False
    # The error store's records are needed but not read yet. `store_read`: the read has ended.
    reads_store: bool = False
    store_read: bool = False
    evacuation_hold: ResetHold | None = None
    reset_hold: ResetHold | None = None
    pods_ready_eviction: PodsReadyEviction | None = None
    queueing: Queueing | None = None  # None: unknown
    # When QuotaReserved turned False, only while Suspended; before that, when it was first seen.
    waits_since: datetime | None = None
    misplacement: Misplacement | None = None
    workloads: tuple[OwnWorkload, ...] = ()  # for a moment Kueue may have more than one
    pods_fell: bool = False
    blockers: tuple[str, ...] = ()
    forced_off: tuple[str, ...] = ()
    # Objects exist that this phase and attempt cannot have (facts/unexpected_objects.py): some of
    # them are not being deleted; some of them may use quota.
    unexpected_due: bool = False
    unexpected_alive: bool = False
    retries: int = 0
    timers: Timers = field(default_factory=Timers)
    unread: frozenset[Need] = field(default=frozenset(), compare=False)

    def require(self, need: Need) -> None:
        """Raise NotRead unless this pass has read the fact. Call it before using the fact."""
        if need in self.unread:
            raise NotRead(need)

    def text_of(self, kind: str) -> ConditionText:
        """Return the reason and message of a condition; both are empty if there is none."""
        return self.condition_texts.get(kind, ConditionText(""))

    def is_news(self, report: ConditionReport) -> bool:
        """True if `report` must be written."""
        kind = report.type
        stored, last = self.condition_texts.get(kind), self.reported.get(kind)
        return is_news(report, stored, last, was=kind in self.conditions)
