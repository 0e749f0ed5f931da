"""The Training Operator, for PyTorchJobs.

Facts of version 1.9.3: pkg/controller.v1/pytorch/pytorchjob_controller.go (Reconcile,
UpdateJobStatus), pkg/controller.v1/common/{job,pod}.go (ReconcileJobs, ReconcilePods, createNewPod,
DeletePodsAndServices), pkg/util/status.go and pkg/core/{status,job}.go. Left out: services, gang
scheduling, autoscaling.
"""

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from shared.api.conditions import is_true
from shared.api.objects import PODS, JsonObject, controller_of
from shared.api.times import format_time, parse_time
from tests.simulation.actors.kubeflow_status import ENDS, ROLE, count, is_of, put, role_of
from tests.simulation.actors.objects import Key, phase_of
from tests.simulation.actors.owned import from_template, owned, restarts
from tests.simulation.actors.reconciler import Operator, Steps
from tests.simulation.api.kinds import PYTORCH_JOBS
from tests.simulation.api.store import Write, copied, key_of

_PREFIX: Final = "training.kubeflow.org/"
INDEX: Final = f"{_PREFIX}replica-index"
_RESTARTED: Final = ("OnFailure", "Always")


class TrainingOperator(Operator):
    """One key for each namespace and name."""

    RECONCILED = PYTORCH_JOBS

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == PYTORCH_JOBS:
            yield key_of(write.item)
        elif write.resource == PODS:
            owner = controller_of(write.item)
            if owner is not None and owner.kind == PYTORCH_JOBS.kind:
                yield write.item["metadata"]["namespace"], owner.name

    def steps(self, key: Any) -> Steps:
        namespace, name = key
        job = self.cached(namespace, name)
        if job is None or "deletionTimestamp" in job["metadata"]:
            return None  # from now on; a pass under way goes on
        status = copied(job.get("status") or {})
        policy = job["spec"].get("runPolicy") or {}
        pods = owned(self.store, PODS, job)
        if not status.get("conditions"):
            self._put(status, "Created", f"PyTorchJob {name} is created.")
        if any(is_true(status["conditions"], each) for each in ENDS):
            yield from self._clean(policy, pods)
            after = self._expire(job, policy, status)
            if is_true(status["conditions"], "Succeeded"):
                _count_active_as_succeeded(status)
            self.write_status(PYTORCH_JOBS, job, status)
            return after
        if policy.get("suspend") is True:
            yield from self._suspend(job, status, pods)
            return None
        if is_true(status["conditions"], "Suspended"):
            self._put(status, "Suspended", f"PyTorchJob {name} is resumed.", False, "Resumed")
            status["startTime"] = format_time(self.moment)
        if why := self._exceeded(job, policy, status, pods):
            yield from self._delete(pods)
            status.setdefault("completionTime", format_time(self.moment))
            self._put(status, "Failed", f"Job {name} has failed because it {why}")
        else:
            yield from self._reconcile_pods(job, status, pods)
            self._judge(job, status)
        yield f"writes the status of {name}"
        self.write_status(PYTORCH_JOBS, job, status)
        return self._deadline(policy, status)

    def _clean(self, policy: JsonObject, pods: list[JsonObject]) -> Steps:
        """Delete the pods that cleanPodPolicy selects, after the end. The default deletes none."""
        match policy.get("cleanPodPolicy") or "None":
            case "All":
                yield from self._delete(pods)
            case "Running":
                yield from self._delete(
                    [each for each in pods if phase_of(each) in ("Running", "Pending")]
                )
        return None

    def _delete(self, pods: list[JsonObject]) -> Steps:
        for each in pods:
            yield _request("deletes", each)
            Key.of(PODS, each).delete(self.store)
        return None

    def _suspend(self, job: JsonObject, status: JsonObject, pods: list[JsonObject]) -> Steps:
        yield from self._delete(pods)
        text = f"PyTorchJob {job['metadata']['name']} is suspended."
        for each in (status.get("replicaStatuses") or {}).values():
            each.pop("active", None)
        if is_true(status["conditions"], "Running"):
            self._put(status, "Running", text, False, "Suspended")
        self._put(status, "Suspended", text)
        self.write_status(PYTORCH_JOBS, job, status)
        return None

    def _expire(self, job: JsonObject, policy: JsonObject, status: JsonObject) -> float | None:
        """Delete the job after ttlSecondsAfterFinished. Return the seconds left before that."""
        lasts = policy.get("ttlSecondsAfterFinished")
        if lasts is None or "completionTime" not in status:
            return None
        left = _left(status["completionTime"], lasts, self.moment)
        if left <= 0:
            uid = job["metadata"]["uid"]
            self.store.delete(PYTORCH_JOBS, *key_of(job), uid=uid, propagation="Background")
            return None
        return left

    def _exceeded(
        self, job: JsonObject, policy: JsonObject, status: JsonObject, pods: list[JsonObject]
    ) -> str:
        """Return why the job fails as a whole; empty if it does not."""
        limit = policy.get("backoffLimit")
        roles = {role.lower(): spec for role, spec in _roles(job).items()}
        counted = sum(
            restarts(each)
            for each in pods
            if phase_of(each) == "Running"
            and _policy(roles.get(role_of(each), {})) in (*_RESTARTED, "ExitCode")
        )
        if limit is not None and counted >= max(limit, 1):
            return "has reached the specified backoff limit"
        longest = policy.get("activeDeadlineSeconds")
        if longest is None or "startTime" not in status:
            return ""
        left = _left(status["startTime"], longest, self.moment)
        return "was active longer than specified deadline" if left <= 0 else ""

    def _deadline(self, policy: JsonObject, status: JsonObject) -> float | None:
        longest = policy.get("activeDeadlineSeconds")
        if longest is None or any(is_true(status["conditions"], each) for each in ENDS):
            return None
        return max(0.0, _left(status["startTime"], longest, self.moment))

    def _reconcile_pods(self, job: JsonObject, status: JsonObject, pods: list[JsonObject]) -> Steps:
        """Create missing pods, delete failed ones that restart, and count. Raise ApiError.

        A pod of another job with the same name blocks the pass before the status is written.
        """
        counts: dict[str, dict[str, int]] = {}
        status["replicaStatuses"] = counts
        for role, spec in _roles(job).items():
            counts[role] = {}
            own = {
                each["metadata"]["labels"].get(INDEX): each for each in pods if is_of(each, role)
            }
            for index in range(_replicas(spec)):
                pod = own.get(str(index))
                if pod is None:
                    yield f"creates {role}-{index} of {job['metadata']['name']}"
                    self._create(job, role, spec, index)
                else:
                    yield from self._restart(job, status, role, spec, pod)
                    count(counts[role], pod)
        return None

    def _create(self, job: JsonObject, role: str, spec: JsonObject, index: int) -> None:
        meta = job["metadata"]
        labels = {
            f"{_PREFIX}operator-name": "pytorchjob-controller",
            f"{_PREFIX}job-name": meta["name"],
            ROLE: role.lower(),
            INDEX: str(index),
        }
        if role == "Master":
            labels[f"{_PREFIX}job-role"] = "master"
        name = f"{meta['name']}-{role.lower()}-{index}"
        body = from_template(spec["template"], PYTORCH_JOBS, job, labels, name=name)
        restart = _policy(spec)
        body["spec"]["restartPolicy"] = "Never" if restart == "ExitCode" else restart
        self.store.create(PODS, meta["namespace"], body)

    def _restart(
        self, job: JsonObject, status: JsonObject, role: str, spec: JsonObject, pod: JsonObject
    ) -> Steps:
        """Delete a failed pod that its restart policy replaces, or fail the job."""
        if phase_of(pod) != "Failed":
            return None
        policy, name = _policy(spec), job["metadata"]["name"]
        code = _exit_code(pod)
        if policy in _RESTARTED or (policy == "ExitCode" and code >= 128):
            yield _request("deletes", pod)
            Key.of(PODS, pod).delete(self.store)
            text = f"job {name} is restarting because {role} replica(s) failed."
            self._put(status, "Restarting", text)
        elif policy == "ExitCode":
            text = f'job "{name}" is failing because "{role}" replica(s) failed.'
            self._put(status, "Failed", text)
        return None

    def _judge(self, job: JsonObject, status: JsonObject) -> None:
        """Set Running, Succeeded, Restarting or Failed from the counts (UpdateJobStatus).

        A succeeded master ends the job at once: workers may be running still.
        """
        status.setdefault("startTime", format_time(self.moment))
        roles, name = _roles(job), job["metadata"]["name"]
        decisive = "Master" if "Master" in roles else "Worker"
        elastic = decisive == "Worker" and job["spec"].get("elasticPolicy") is not None
        for role, spec in roles.items():
            counts = status["replicaStatuses"][role]
            ended, active = counts.get("succeeded", 0), counts.get("active", 0)
            if role == decisive:
                if ended >= _replicas(spec) or (elastic and ended):
                    status.setdefault("completionTime", format_time(self.moment))
                    self._put(status, "Succeeded", f"PyTorchJob {name} is successfully completed.")
                    if decisive == "Master":
                        return
                elif active:
                    self._put(status, "Running", f"PyTorchJob {name} is running.")
            failed = counts.get("failed", 0)
            if failed and _replicas(spec) > ended + active:
                why = f"because {failed} {role} replica(s) failed."
                if _policy(spec) == "Never":
                    status.setdefault("completionTime", format_time(self.moment))
                    self._put(status, "Failed", f"PyTorchJob {name} is failed {why}")
                else:
                    self._put(status, "Restarting", f"PyTorchJob {name} is restarting {why}")

    def _put(
        self, status: JsonObject, kind: str, text: str, value: bool = True, why: str = ""
    ) -> None:
        put(status, kind, value, f"PyTorchJob{why or kind}", text, self.moment)


def _roles(job: JsonObject) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = job["spec"]["pytorchReplicaSpecs"]
    return found


def _replicas(spec: JsonObject) -> int:
    return int(1 if spec.get("replicas") is None else spec["replicas"])


def _policy(spec: JsonObject) -> str:
    return str(spec.get("restartPolicy") or "OnFailure")


def _exit_code(pod: JsonObject) -> int:
    """Return the exit code of the container `pytorch`; of another one, an impossible code."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (each.get("state") or {}).get("terminated")
        if each.get("name") == "pytorch" and ended is not None:
            return int(ended.get("exitCode") or 0)
    return 0xBEEF


def _count_active_as_succeeded(status: JsonObject) -> None:
    for each in (status.get("replicaStatuses") or {}).values():
        if active := each.pop("active", 0):
            each["succeeded"] = each.get("succeeded", 0) + active


def _left(since: str, lasts: float, now: datetime) -> float:
    return (parse_time(since) + timedelta(seconds=lasts) - now).total_seconds()


def _request(what: str, pod: JsonObject) -> str:
    return f"{what} {pod['metadata']['name']}"
