"""What the controller has observed about one AppWrapper at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
from shared.api.conditions import Terminal

# How patient the controller is with one AppWrapper: its periods, its retries, its exit codes.


OFF: Final = "off"  # of `error_aggregation`


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTolerance:
    """Effective values: the operator's configuration, overridden by the AppWrapper's annotations.

    `retryable_exit_codes` empty means that every code not listed as terminal may be retried.
    """

    admission_grace: timedelta = timedelta(minutes=1)
    warmup_grace: timedelta = timedelta(minutes=5)
    failure_grace: timedelta = timedelta(minutes=1)
    retry_pause: timedelta = timedelta(seconds=90)  # before the next attempt, spread out
    asked_retry_pause: timedelta = timedelta(seconds=90)  # the same as it was asked for
    retry_limit: int = 3
    deletion_on_failure_grace: timedelta = timedelta(0)
    forceful_deletion_grace: timedelta = timedelta(minutes=10)
    success_ttl: timedelta = timedelta(days=7)
    terminal_exit_codes: frozenset[int] = frozenset()
    retryable_exit_codes: frozenset[int] = frozenset()
    # How long a pod may go on after its deletion was asked for, once others took its place: the
    # operator's forceful deletion period, or the AppWrapper's own where that is shorter.
    ghost_grace: timedelta = timedelta(minutes=10)
    # The rest is the operator's alone.
    # How long a pod that crashed in place must run before it counts again.
    stability_period: timedelta = timedelta(seconds=30)
    settle_period: timedelta = timedelta(seconds=5)  # flapping.py says what these two do
    flap_period: timedelta = timedelta(seconds=75)
    remember_suspects: bool = True  # a failed attempt makes the node of its first failure a suspect
    # How a root cause is found: "earliest", "default" (it is shown, and decides nothing) or "off".
    error_aggregation: str = "earliest"
    error_store: str = ""  # the name of a configured store; empty: none
    record_settle: timedelta = timedelta(seconds=5)  # how long slow workers' records are waited for
    store_timeout: timedelta = timedelta(seconds=10)  # likewise an answer of the error store
    skew_tolerance: timedelta = timedelta(0)  # by so much the clocks of nodes may differ

    def forbids(self, exit_code: int) -> str:
        """Return how the user's lists forbid a retry after `exit_code`; empty if they do not."""
        if exit_code in self.terminal_exit_codes:
            return "is in terminalExitCodes"
        if self.retryable_exit_codes and exit_code not in self.retryable_exit_codes:
            return "is not in retryableExitCodes"
        return ""


class Presence(StrEnum):
    """Where a component is in its own life. Absence from a cache is never one of these."""

    PLANNED = "planned"  # its name is recorded; nothing of that name and this attempt was made yet
    PRESENT = "present"
    DELETING = "deleting"  # still there, with a deletionTimestamp
    # It was made; nobody can tell now, since its Kind is not served or it cannot be read.
    UNKNOWN = "unknown"
    GONE = "gone"  # it was made; a DELETED event or a live read says that it is no longer there


class PodSetInfos(StrEnum):
    """Kueue's podSetInfos against the pod sets of all components."""

    ABSENT = "absent"
    COMPLETE = "complete"
    MISMATCHED = "mismatched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component. `reports`: its Kind says itself how it ended, so its pods need not.

    `succeeded_pods`: as many of its pods ended well as it says itself, be they gone. `wanted_pods`:
    as many it wants to have made by now; None: nothing holds it up, so all that are expected.

    `helper`: it serves the others and never ends by itself (a TensorBoard), so its end is not
    waited for.
    """

    name: str
    kind: str
    presence: Presence
    expected_pods: int = 0
    succeeded_pods: int = 0
    succeeded_indices: str = ""  # which ones these are, where it says so (`0,2-5`)
    # Or whose: how many owners with such names, by their prefix, and of how many pods each.
    succeeded_by_owner: tuple[tuple[str, int, int], ...] = ()
    wanted_pods: int | None = None
    reports: bool = False
    outlived: bool = False  # what it made goes on after it, and makes a new pod for each that goes
    helper: bool = False
    terminal: Terminal | None = None
    keep: bool = False  # without pods; it survives resets and suspensions, if its user says so
    end_recorded: bool = False  # status says already that it ended well
    failure_recorded: bool = False  # status says already that it failed
    message: str = ""  # its own words: why it failed, or what keeps it from its work
    leaves: datetime | None = None  # by when it should have gone; None: nobody deletes it
    announced: bool = False  # status says that it is about to be made, and not yet what came of it
    unreadable: str = ""  # why the API server does not show it; then it is as it was last seen

    @property
    def exists(self) -> bool:
        """There is an object of ours in the cluster, as far as anybody can tell."""
        return self.presence in (Presence.PRESENT, Presence.DELETING, Presence.UNKNOWN)

    @property
    def makes_unseen(self) -> bool:
        """It cannot be deleted as long as nobody sees it, and would make its pods anew."""
        unseen = self.presence is Presence.UNKNOWN and bool(self.unreadable)
        return unseen and self.expected_pods > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCounts:
    """The labelled pods of this AppWrapper and attempt.

    Each is in exactly one of `pending`, `running`, `deleting`, `succeeded`, `failed` and
    `outliving`, save those that need no count: failed ones that were replaced, and what ended of a
    component that is not awaited. A component is awaited until it ended well, a helper never.
    `succeeded` are also pods that are gone: seen to end well before, or by their component's word.
    `loose_succeeded` counts, of `succeeded`, the pods of components that report no end themselves.
    """

    expected: int = 0  # of the awaited components
    deferred: int = 0  # of these, pods that their components do not want yet
    staged: bool = False  # some component does not make all of its pods at once
    pending: int = 0
    pending_named: str = ""  # which ones, for people
    too_large: str = ""  # the request of a pod that no node of the cluster can hold, for people
    held_up: str = ""  # which of these the scheduler or the kubelet rejects, and why, for people
    unheeded: str = ""  # which of these no scheduler has reported on, and why, for people
    running: int = 0
    deleting: int = 0  # not yet ended, with a deletionTimestamp: not running
    succeeded: int = 0
    failed: int = 0
    failed_named: str = ""  # which ones, for people
    outliving: int = 0  # not yet ended, of components that are not awaited
    stragglers: int = 0  # under way, not being deleted, though their component ended or is gone
    newest_straggler: datetime | None = None  # made then, where the component is still there
    loose_succeeded: int = 0
    # Which exit code of which pod forbids a retry, by which annotation, for people; empty: none.
    terminal_named: str = ""
    # Of `pending`: pods whose containers crash again and again in place, or did until just now.
    unstable: int = 0
    # When the first of them counts as running again, if it goes on running; None: not by itself.
    stable_in: timedelta | None = None

    @property
    def terminal_exit(self) -> bool:
        """A failed container's exit code forbids a retry."""
        return bool(self.terminal_named)

    @property
    def wanted(self) -> int:
        """Pods that should be there by now, or have ended well."""
        return self.expected - self.deferred

    @property
    def ready(self) -> int:
        """Pods that do, or did, what they are there for."""
        return self.running + self.succeeded

    @property
    def existing(self) -> int:
        """Pods that are there, in whatever state: one that is going may take its time."""
        return self.pending + self.running + self.deleting + self.succeeded + self.failed

    @property
    def under_way(self) -> int:
        """Pods that may hold what was reserved for them."""
        return self.pending + self.running + self.deleting + self.outliving


@dataclass(frozen=True, slots=True)
class CreateProblem:
    """Why the components could not all be created. `fatal`: trying again cannot help.

    `refused` is the index of a component that is certainly not there: it was not asked for, or the
    API server refused it. None where the outcome is not known, or another object has the name.
    """

    fatal: bool
    message: str
    retry_at: datetime | None = None  # not before then; None when fatal
    refused: int | None = None


@dataclass(frozen=True, slots=True)
class Evacuation:
    """Running pods use a resource that a label of their node says is to be left at once.

    `message` names pods, nodes and labels. `spends_retry`: a pod was put on a node that was tagged
    already, so moving on for free could go on for ever. `resources` are those of such pods.
    `since`: when the first of these labels was seen.
    """

    message: str
    spends_retry: bool = False
    resources: frozenset[str] = frozenset()
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Suspect:
    """The pod of an attempt that failed first, and its node, which may be the reason."""

    node: str
    pod: str


class HoldReason(StrEnum):
    """Why no reset may begin now."""

    RATE = "rate"  # the cluster's resets a second are used up
    PAUSED = "paused"  # an admin set pauseResets
    BREAKER = "breaker"  # so many nodes turned bad at once that an admin must confirm


@dataclass(frozen=True, slots=True)
class ResetHold:
    """A reset that was decided on must wait. `retry_in` None: until something wakes it.

    `message` should hold no number that changes by itself. With BREAKER the next decision may still
    hold a reset, for another reason than an evacuation: it needs a permit of its own.
    """

    reason: HoldReason
    message: str
    retry_in: timedelta | None = None


@dataclass(frozen=True, slots=True)
class PodsReadyEviction:
    """Kueue took the quota back, since pods were not ready within its waitForPodsReady.

    `count` is how often it has done so with this Workload. `given_up`: it will not admit it again.
    """

    workload: str
    count: int
    given_up: bool = False


@dataclass(frozen=True, slots=True)
class Queueing:
    """What Kueue's objects say of an AppWrapper that waits in a queue.

    `workload`: Kueue made one, and has `considered` it. `trouble` is why the queue admits nothing.
    `unmanaged` is why Kueue makes no Workload: empty if nothing proves it, None if it could not be
    read. If either is `certain`, the AppWrapper says so at once. `pending` is Kueue's reason,
    `evicted` why it lost its quota before.
    """

    workload: bool
    trouble: str = ""
    certain: bool = False
    pending: str = ""
    evicted: str = ""
    considered: bool = False
    unmanaged: str | None = None


@dataclass(frozen=True, slots=True)
class Misplacement:
    """Under a topology: Kueue assigned nodes that new pods cannot go to. `message` names them.

    `uid` and `version` (its resourceVersion) are of the Workload that says so. `evicted`: Kueue
    has been asked to assign others, or replaces a node by itself, and has not done so yet.
    """

    message: str
    workload: str
    uid: str
    version: str
    evicted: bool = False


@dataclass(frozen=True, slots=True)
class Ghosts:
    """Pods that went on beside those that took their place, for longer than they may.

    `named` are those that nobody was told of yet, for people, and `forced_off` those of them that
    are removed without word from their node.
    """

    named: str = ""
    forced_off: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConditionText:
    """What a condition of the AppWrapper says at present."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timers:
    """When each waiting period began; the names are those of the periods (specification 1).

    `timers.evolve` alone changes these. None of them is ever used for another period.
    """

    admission: datetime | None = None
    warmup: datetime | None = None
    failure: datetime | None = None
    deletion_on_failure: datetime | None = None
    forceful_deletion: datetime | None = None
    retry_pause: datetime | None = None
    success: datetime | None = None
    stragglers: datetime | None = None
    # When bad news of the pods was last told, or all ran that were wanted so far (readiness.py).
    unready: datetime | None = None
    # The two waits of evidence.py.
    records: datetime | None = None
    store: datetime | None = None
    # Of waiting.py: since when there is no Workload, and when QuotaReserved last said why it waits.
    no_workload: datetime | None = None
    queue_reason: datetime | None = None
    # When the message of PodsReady was last written, while it was False.
    pods_told: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that `decide` may look at.

    `gone` is a proof, by fresh reads, that no component and no labelled pod is left; it is looked
    for only where the phase needs it, and False elsewhere. `conditions` holds the types of the
    AppWrapper's conditions that are True, `told` what each of them says, True or not. `pods_fell`:
    since the admission period began, as many pods existed as expected and then, at some moment,
    fewer. `blockers` say what is in the way of a deletion, for people. `forced_off` names what was,
    or will be, removed without word from its node.
    """

    phase: Phase
    suspend: bool = False
    deletion_requested: bool = False
    finalizer: bool = False
    queued: bool = False  # it carries a queue-name label
    topology_workload: str = ""  # Kueue assigned its nodes in the Workload of that name
    planned: bool = True  # status names every component to be created, and counts the attempt
    pod_set_infos: PodSetInfos = PodSetInfos.ABSENT
    conditions: frozenset[str] = frozenset()
    told: Mapping[str, ConditionText] = field(default_factory=dict)  # by type
    components: tuple[Component, ...] = ()
    pods: PodCounts = field(default_factory=PodCounts)
    labelled_pods: int = 0  # of every attempt, in whatever state
    stray_pods: bool = False  # some of them are not being deleted though no component is left
    gone: bool = False
    namespace_ending: bool = False
    create_problem: CreateProblem | None = None
    evacuation: Evacuation | None = None
    suspect: Suspect | None = None  # None: no pod failed, or its node is not to blame
    root_cause: RootCause | None = None  # None: nothing failed, or a deletion ended all that did
    healed: RootCause | None = None  # the last one of this attempt, while there is none
    # The workload records its failures, and pods may yet leave records (phases/evidence.py).
    awaits_records: bool = False
    # The error store's records are needed and not there yet; `store_read`: it answered, or failed.
    reads_store: bool = False
    store_read: bool = False
    reset_hold: ResetHold | None = None  # set only where a reset was decided and must wait
    pods_ready_eviction: PodsReadyEviction | None = None  # looked for once it is suspended
    queueing: Queueing | None = None  # None: not looked for, or not known
    waits_since: datetime | None = None  # since QuotaReserved is False; only while Suspended
    misplacement: Misplacement | None = None  # looked for when the next attempt is due
    pods_fell: bool = False
    blockers: tuple[str, ...] = ()
    forced_off: tuple[str, ...] = ()
    ghosts: Ghosts | None = None  # None: there are none that are to be forced
    retries: int = 0
    timers: Timers = field(default_factory=Timers)
