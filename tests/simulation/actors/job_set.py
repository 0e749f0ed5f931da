"""The JobSet controller.

Facts of version 0.12.0: pkg/controllers/jobset_controller.go (reconcile, getChildJobs,
reconcileReplicatedJobs, suspendJobs, resumeJobsIfNecessary), failure_policy.go, success_policy.go,
startup_policy.go and depends_on.go. Left out: network, volumes, coordinator, groups, restarts of
single Jobs, restarts in place.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from shared.api.conditions import condition
from shared.api.objects import JsonObject, controller_of, label
from tests.simulation.actors.objects import Key, set_condition
from tests.simulation.actors.owned import from_template, owned
from tests.simulation.actors.reconciler import Operator, Steps
from tests.simulation.api.kinds import JOB_SETS, JOBS
from tests.simulation.api.store import Write, copied, key_of

_PREFIX: Final = "jobset.sigs.k8s.io/"
NAME: Final = f"{_PREFIX}jobset-name"
ROLE: Final = f"{_PREFIX}replicatedjob-name"
RESTARTS: Final = f"{_PREFIX}restart-attempt"
_RESTART: Final = "RestartJobSet"
_RESTART_FREE: Final = "RestartJobSetAndIgnoreMaxRestarts"


class _Children:
    """The Jobs of a JobSet, by their state. `previous`: of an earlier restart."""

    def __init__(self, jobs: list[JsonObject], restarts: int) -> None:
        self.previous: list[JsonObject] = []
        self.active: list[JsonObject] = []
        self.succeeded: list[JsonObject] = []
        self.failed: list[JsonObject] = []
        for each in jobs:
            if int(label(each, RESTARTS) or 0) < restarts:
                self.previous.append(each)
            elif _is(each, "Failed"):
                self.failed.append(each)
            elif _is(each, "Complete"):
                self.succeeded.append(each)
            else:
                self.active.append(each)

    @property
    def names(self) -> set[str]:
        every = (*self.previous, *self.active, *self.succeeded, *self.failed)
        return {each["metadata"]["name"] for each in every}


class JobSetController(Operator):
    """One key for each namespace and name."""

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == JOB_SETS:
            yield key_of(write.item)
        elif write.resource == JOBS:
            owner = controller_of(write.item)
            if owner is not None and owner.kind == JOB_SETS.kind:
                yield write.item["metadata"]["namespace"], owner.name

    def steps(self, key: Any) -> Steps:
        namespace, name = key
        job_set = self.store.get(JOB_SETS, namespace, name)
        if job_set is None or "deletionTimestamp" in job_set["metadata"]:
            return None
        new = copied(job_set)
        status: JsonObject = new.setdefault("status", {})
        jobs = _Children(owned(self.store, JOBS, job_set), status.get("restarts", 0))
        status["replicatedJobsStatus"] = _statuses(job_set, jobs)
        if status.get("terminalState"):
            yield from self._delete(jobs.active)
        else:
            yield from self._delete(jobs.previous)
            if jobs.failed:
                self._fail_or_restart(new, jobs)
            elif _is_complete(job_set, jobs):
                self._finish(new, "Completed", "AllJobsCompleted", "jobset completed successfully")
            else:
                yield from self._create(job_set, jobs)
                yield from self._steer(new, jobs)
        yield f"writes the status of {name}"
        self.write_status(JOB_SETS, job_set, status)
        return None

    def _delete(self, jobs: list[JsonObject]) -> Steps:
        for each in jobs:
            if "deletionTimestamp" not in each["metadata"]:
                yield f"deletes {each['metadata']['name']}"
                Key.of(JOBS, each).delete(self.store, propagation="Foreground")
        return None

    def _fail_or_restart(self, new: JsonObject, jobs: _Children) -> None:
        """Apply the failure policy. A restart only counts: the next pass deletes the old Jobs."""
        policy = new["spec"].get("failurePolicy")
        first = min(jobs.failed, key=_failed_at)["metadata"]["name"]
        if policy is None:
            text = f"jobset failed due to one or more job failures (first failed job: {first})"
            self._finish(new, "Failed", "FailedJobs", text)
            return
        action, status = _action(policy, jobs.failed), new["status"]
        if action == "FailJobSet":
            text = f"applying FailJobSet failure policy action (first failed job: {first})"
            self._finish(new, "Failed", "FailJobSetFailurePolicyAction", text)
            return
        counted = status.get("restartsCountTowardsMax", 0)
        if action == _RESTART and counted >= (policy.get("maxRestarts") or 0):
            text = (
                f"jobset failed due to reaching max number of restarts (first failed job: {first})"
            )
            self._finish(new, "Failed", "ReachedMaxRestarts", text)
            return
        status["restarts"] = status.get("restarts", 0) + 1
        if action == _RESTART:
            status["restartsCountTowardsMax"] = counted + 1

    def _finish(self, new: JsonObject, kind: str, why: str, text: str) -> None:
        set_condition(new, kind, "True", why, self.now, text)
        new["status"]["terminalState"] = kind

    def _create(self, job_set: JsonObject, jobs: _Children) -> Steps:
        """Create missing Jobs whose turn it is. A Job of an earlier restart keeps its name."""
        statuses = {each["name"]: each for each in _statuses(job_set, jobs)}
        spec = job_set["spec"]
        blocking = (spec.get("failurePolicy") or {}).get("restartStrategy") == "BlockingRecreate"
        for each in spec["replicatedJobs"]:
            if not _may_start(spec, each, statuses):
                continue
            in_order = _is_in_order(spec) and not _is_suspended(job_set)
            if in_order and _has_started(each, statuses):
                continue
            for index in range(_replicas(each)):
                name = f"{job_set['metadata']['name']}-{each['name']}-{index}"
                if name not in jobs.names and not (blocking and jobs.previous):
                    yield f"creates {name}"
                    self._create_one(job_set, each, name, index)
            if in_order:
                return None
        return None

    def _create_one(self, job_set: JsonObject, each: JsonObject, name: str, index: int) -> None:
        restarts = (job_set.get("status") or {}).get("restarts", 0)
        labels = {
            NAME: job_set["metadata"]["name"],
            f"{_PREFIX}jobset-uid": job_set["metadata"]["uid"],
            ROLE: each["name"],
            RESTARTS: str(restarts),
            f"{_PREFIX}replicatedjob-replicas": str(_replicas(each)),
            f"{_PREFIX}job-index": str(index),
        }
        body = from_template(each["template"], JOB_SETS, job_set, labels, name=name)
        pods = body["spec"]["template"].setdefault("metadata", {})
        pods["labels"] = {**(pods.get("labels") or {}), **labels}
        body["spec"]["suspend"] = _is_suspended(job_set)
        self.store.create(JOBS, job_set["metadata"]["namespace"], body)

    def _steer(self, new: JsonObject, jobs: _Children) -> Steps:
        """Suspend the active Jobs, or resume those whose turn it is."""
        if _is_suspended(new):
            yield from self._set_suspend([each for each in jobs.active if not _is_suspended(each)])
            text = "jobset is suspended"
            set_condition(new, "Suspended", "True", "SuspendedJobs", self.now, text)
            return None
        statuses = {each["name"]: each for each in _statuses(new, jobs)}
        spec = new["spec"]
        for role in spec["replicatedJobs"]:
            in_order = _is_in_order(spec)
            if not _may_start(spec, role, statuses) or (in_order and _has_started(role, statuses)):
                continue
            own = [each for each in jobs.active if label(each, ROLE) == role["name"]]
            yield from self._set_suspend([each for each in own if _is_suspended(each)], False)
            if in_order:
                return None
        if _is(new, "Suspended"):
            set_condition(new, "Suspended", "False", "ResumeJobs", self.now, "jobset is resumed")
        return None

    def _set_suspend(self, jobs: list[JsonObject], value: bool = True) -> Steps:
        for each in jobs:
            yield f"{'suspends' if value else 'resumes'} {each['metadata']['name']}"
            Key.of(JOBS, each).change(self.store, lambda job: job["spec"].update(suspend=value))
        return None


def _is(item: JsonObject, kind: str) -> bool:
    conditions = (item.get("status") or {}).get("conditions") or []
    return (condition(conditions, kind) or {}).get("status") == "True"


def _is_suspended(item: JsonObject) -> bool:
    return item["spec"].get("suspend") is True


def _replicas(role: JsonObject) -> int:
    return int(1 if role.get("replicas") is None else role["replicas"])


def _is_in_order(spec: JsonObject) -> bool:
    return (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"


def _has_started(role: JsonObject, statuses: dict[str, JsonObject]) -> bool:
    status = statuses[role["name"]]
    return bool(status["failed"] + status["ready"] + status["succeeded"] == _replicas(role))


def _may_start(spec: JsonObject, role: JsonObject, statuses: dict[str, JsonObject]) -> bool:
    """True if all that the Jobs depend on has reached its status (dependencyReachedStatus)."""
    replicas = {each["name"]: _replicas(each) for each in spec["replicatedJobs"]}
    for each in role.get("dependsOn") or ():
        status = statuses[each["name"]]
        reached = status["succeeded"]
        if each["status"] == "Ready":
            reached += status["ready"] + status["failed"]
        if reached < replicas[each["name"]]:
            return False
    return True


def _statuses(job_set: JsonObject, jobs: _Children) -> list[JsonObject]:
    """Return the counts of each template's Jobs (calculateReplicatedJobStatuses)."""
    found = []
    for role in job_set["spec"]["replicatedJobs"]:
        name = role["name"]
        active = [each for each in jobs.active if label(each, ROLE) == name]
        found.append(
            {
                "name": name,
                "ready": sum(map(_is_ready, active)),
                "succeeded": sum(label(each, ROLE) == name for each in jobs.succeeded),
                "failed": sum(label(each, ROLE) == name for each in jobs.failed),
                "active": sum(bool((j.get("status") or {}).get("active")) for j in active),
                "suspended": sum(map(_is_suspended, active)),
            }
        )
    return found


def _is_ready(job: JsonObject) -> bool:
    spec, status = job["spec"], job.get("status") or {}
    wanted = spec.get("parallelism", 1)
    wanted = min(wanted, spec.get("completions", wanted))
    return bool(status.get("succeeded", 0) + status.get("ready", 0) >= wanted)


def _is_complete(job_set: JsonObject, jobs: _Children) -> bool:
    """True if enough Jobs succeeded for the success policy, whose default is all of them."""
    policy = job_set["spec"].get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or []
    roles = [r for r in job_set["spec"]["replicatedJobs"] if not targets or r["name"] in targets]
    matching = [each for each in jobs.succeeded if not targets or label(each, ROLE) in targets]
    expected = 1 if policy.get("operator") == "Any" else sum(map(_replicas, roles))
    return bool(jobs.succeeded) and len(matching) >= expected


def _action(policy: JsonObject, failed: list[JsonObject]) -> str:
    """Return the action of the first rule that matches a failed Job."""
    for rule in policy.get("rules") or ():
        reasons, targets = rule.get("onJobFailureReasons"), rule.get("targetReplicatedJobs")
        for each in failed:
            if (not reasons or _failure(each).get("reason") in reasons) and (
                not targets or label(each, ROLE) in targets
            ):
                return str(rule["action"])
    return _RESTART


def _failure(job: JsonObject) -> JsonObject:
    return condition((job.get("status") or {}).get("conditions") or [], "Failed") or {}


def _failed_at(job: JsonObject) -> str:
    return str(_failure(job).get("lastTransitionTime") or "")
