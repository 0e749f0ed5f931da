"""Read a Job and its pods as the Job controller does. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shared.api.conditions import condition, conditions_of, is_true
from shared.api.objects import JsonObject, is_being_deleted
from shared.kinds.job import BACKOFF_LIMIT, COMPLETION_INDEX
from tests.simulation.actors.objects import is_active, phase_of

TRACKING: Final = "batch.kubernetes.io/job-tracking"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a Job. `interim` is the condition that the Job has until its last pod is gone."""

    succeeded: bool
    reason: str
    message: str

    @property
    def interim(self) -> str:
        return "SuccessCriteriaMet" if self.succeeded else "FailureTarget"

    @property
    def final(self) -> str:
        return "Complete" if self.succeeded else "Failed"


_COMPLETE: Final = Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")
_EXCEEDED: Final = Verdict(
    False, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)


def parse_indices(text: str) -> set[int]:
    """Return the indices of `0,2-4`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def format_indices(indices: Iterable[int]) -> str:
    """Return `0,2-4`; two neighbours are `2,3`, as the Job controller writes them."""
    runs: list[list[int]] = []
    for each in sorted(indices):
        if runs and runs[-1][-1] == each - 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs
    )


@dataclass(frozen=True, slots=True)
class Figures:
    """The pods of one sync: as they were read, without those that the sync itself deletes.

    The sync writes these figures in all of its statuses, also if pods have disappeared meanwhile.
    """

    active: int
    ready: int
    terminating: int


class JobCounts:
    """A Job and the pods that it owns, as they were at one moment."""

    def __init__(self, job: JsonObject, pods: Sequence[JsonObject]) -> None:
        self.pods = pods
        self.spec: JsonObject = job["spec"]
        self.status: JsonObject = job.get("status") or {}
        self.deleting = is_being_deleted(job)
        self.suspended = bool(self.spec.get("suspend"))
        self.indexed = self.spec.get("completionMode") == "Indexed"
        self.parallelism: int = self.spec.get("parallelism", 1)
        self.completions: int | None = self.spec.get(
            "completions", None if "parallelism" in self.spec else 1
        )
        held = self.status.get("uncountedTerminatedPods") or {}
        self.uncounted = {kind: [*(held.get(kind) or ())] for kind in ("succeeded", "failed")}

        self.known = {*self.uncounted["succeeded"], *self.uncounted["failed"]}

    def is_counted(self, pod: JsonObject) -> bool:
        """True if the status lists the pod; of an Indexed Job's success it lists the index."""
        listed = self.indexed and phase_of(pod) == "Succeeded"
        return listed or uid_of(pod) in self.known

    @property
    def active(self) -> list[JsonObject]:
        return [each for each in self.pods if is_active(each)]

    @property
    def terminating(self) -> list[JsonObject]:
        return [
            each
            for each in self.pods
            if is_being_deleted(each) and phase_of(each) in ("Pending", "Running")
        ]

    def figures(self, deleted: Sequence[JsonObject] = (), created: int = 0) -> Figures:
        """Return the figures of a sync that deletes and creates pods."""
        left = [each for each in self.active if each not in deleted]
        ready = [each for each in left if is_true(conditions_of(each["status"]), "Ready")]
        return Figures(len(left) + created, len(ready), len(self.terminating) + len(deleted))

    @property
    def replaces_failed_only(self) -> bool:
        """True if a pod that is being deleted is replaced, and counted, only after its end."""
        policy = self.spec.get("podReplacementPolicy")
        return policy == "Failed" or (policy is None and "podFailurePolicy" in self.spec)

    def has_failed(self, pod: JsonObject) -> bool:
        """True if the Job counts the pod as failed, as it may while the pod is being deleted."""
        phase = phase_of(pod)
        going = is_being_deleted(pod) and phase != "Succeeded"
        return phase == "Failed" or (going and not self.replaces_failed_only)

    def new(self, kind: str) -> list[JsonObject]:
        """Return the pods that ended in this way and are in no count yet."""
        ended = [each for each in self.pods if is_tracked(each) and uid_of(each) not in self.known]
        if kind == "succeeded":
            return [each for each in ended if phase_of(each) == "Succeeded"]
        return [each for each in ended if self.has_failed(each)]

    @property
    def succeeded_indices(self) -> set[int]:
        done = parse_indices(self.status.get("completedIndexes") or "")
        return done | {index_of(each) for each in self.new("succeeded")}

    @property
    def succeeded(self) -> int:
        if self.indexed:
            return len(self.succeeded_indices)
        return self._total("succeeded")

    @property
    def failed(self) -> int:
        return self._total("failed")

    def _total(self, kind: str) -> int:
        counted: int = self.status.get(kind, 0)
        return counted + len(self.uncounted[kind]) + len(self.new(kind))

    @property
    def is_finished(self) -> bool:
        conditions = conditions_of(self.status)
        return is_true(conditions, "Complete") or is_true(conditions, "Failed")

    def known_verdict(self) -> Verdict | None:
        """Return the verdict that the status holds; a verdict is final."""
        for kind in ("SuccessCriteriaMet", "FailureTarget"):
            if is_true(conditions_of(self.status), kind):
                found = condition(conditions_of(self.status), kind) or {}
                succeeded = kind == "SuccessCriteriaMet"
                return Verdict(succeeded, found.get("reason", ""), found.get("message", ""))
        return None

    def failure(self, running_for: float) -> Verdict | None:
        """Return the verdict if the Job has failed, by its failed pods, restarts or deadline."""
        limit = self.spec.get("backoffLimit", BACKOFF_LIMIT)
        if self.failed > limit or self._restarts() >= max(1, limit):
            return _EXCEEDED
        deadline = self.spec.get("activeDeadlineSeconds")
        if deadline is not None and not self.suspended and running_for >= deadline:
            return Verdict(
                False, "DeadlineExceeded", "Job was active longer than specified deadline"
            )
        return None

    def success(self, active: int) -> Verdict | None:
        """Return the verdict if enough pods have succeeded and none is active."""
        wanted = 1 if self.completions is None else self.completions
        return _COMPLETE if self.succeeded >= wanted and not active else None

    def _restarts(self) -> int:
        """Return the restarts of all containers; they count under restartPolicy OnFailure only."""
        if self.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return 0
        return sum(
            container.get("restartCount", 0)
            for pod in self.pods
            if phase_of(pod) in ("Pending", "Running")
            for field in ("initContainerStatuses", "containerStatuses")
            for container in pod["status"].get(field) or ()
        )

    def wanted(self) -> int:
        """Return how many pods the Job wants to be active."""
        if self.suspended:
            return 0
        if self.completions is None:
            return len(self.active) if self.succeeded else self.parallelism
        return max(0, min(self.parallelism, self.completions - self.succeeded))

    def missing(self) -> list[int | None]:
        """Return the completion indices of the pods to create; None for pods without an index."""
        going = self.terminating if self.replaces_failed_only else []
        count = max(0, self.wanted() - len(going) - len(self.active))
        if not self.indexed:
            return [None] * count
        taken = self.succeeded_indices | {index_of(each) for each in (*self.active, *going)}
        free = [each for each in range(self.completions or 0) if each not in taken]
        return [*free[:count]]


def is_tracked(pod: JsonObject) -> bool:
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def uid_of(pod: JsonObject) -> str:
    return str(pod["metadata"]["uid"])


def index_of(pod: JsonObject) -> int:
    """Return the pod's completion index; -1 without one."""
    return int((pod["metadata"].get("annotations") or {}).get(COMPLETION_INDEX, -1))
