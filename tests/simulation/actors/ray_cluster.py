"""KubeRay, for RayClusters.

Facts of version 1.6.0: controllers/ray/raycluster_controller.go (rayClusterReconcile,
reconcilePods, shouldDeletePod, calculateStatus) and common/association.go. Left out: services,
autoscaling, upgrades, several hosts for each replica, cleanup of a Redis.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from shared.api.conditions import conditions_of, is_true
from shared.api.objects import PODS, JsonObject, label
from shared.kinds.kind import MAXIMUM_REPLICAS
from shared.kube.responses import ApiError
from tests.simulation.actors.objects import Key, has_ended, phase_of, set_condition
from tests.simulation.actors.owned import from_template
from tests.simulation.actors.reconciler import Operator, Retry, Steps
from tests.simulation.api.kinds import RAY_CLUSTERS
from tests.simulation.api.store import Write, copied, key_of

CLUSTER: Final = "ray.io/cluster"
NODE_TYPE: Final = "ray.io/node-type"
GROUP: Final = "ray.io/group"
# Seconds until the next pass, after a change of the status and without one.
_SOON: Final = 2.0
_REGULARLY: Final = 300.0


class RayClusterController(Operator):
    """One key for each namespace and name.

    It finds pods by the cluster's name in their labels: those of an earlier RayCluster of the same
    name count, and are deleted, too.
    """

    RECONCILED = RAY_CLUSTERS

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == RAY_CLUSTERS:
            yield key_of(write.item)
        elif write.resource == PODS and (name := label(write.item, CLUSTER)):
            yield write.item["metadata"]["namespace"], name

    def steps(self, key: Any) -> Steps:
        namespace, name = key
        cluster = self.cached(namespace, name)
        if cluster is None or "deletionTimestamp" in cluster["metadata"]:
            return None
        new = copied(cluster)
        new.setdefault("status", {}).setdefault("conditions", [])
        error: Exception | None = None
        try:
            yield from self._reconcile_pods(cluster)
        except (ApiError, Retry) as failure:
            error = failure
        self._calculate(new, error)
        is_news = new["status"] != cluster.get("status")
        yield f"writes the status of {name}"
        self.write_status(RAY_CLUSTERS, cluster, new["status"])
        if error is not None:
            raise error
        return _SOON if is_news else _REGULARLY

    def _pods(self, cluster: JsonObject) -> list[JsonObject]:
        namespace, name = key_of(cluster)
        return [each for each in self.store.items(PODS, namespace) if label(each, CLUSTER) == name]

    def _reconcile_pods(self, cluster: JsonObject) -> Steps:
        """Delete ended pods and create missing ones. Raise ApiError, or Retry after a deletion."""
        pods = self._pods(cluster)
        if _has(cluster, "RayClusterSuspending"):
            yield from self._delete(pods)
            return None
        if _has(cluster, "RayClusterSuspended") or _is_suspended(cluster):
            return None
        heads = [each for each in pods if label(each, NODE_TYPE) == "head"]
        if len(heads) > 1:
            raise Retry(f"{len(heads)} head pods found")
        if heads and has_ended(heads[0]):
            yield from self._delete(heads)
            raise Retry("deleted the head pod")
        if not heads:
            yield from self._create(cluster, "head", "headgroup", cluster["spec"]["headGroupSpec"])
        for group in cluster["spec"].get("workerGroupSpecs") or ():
            own = [each for each in pods if label(each, GROUP) == group["groupName"]]
            if ended := [each for each in own if has_ended(each)]:
                yield from self._delete(ended)
                raise Retry(f"delete {len(ended)} unhealthy worker Pods")
            missing = _desired(group) - len(own)
            for _ in range(missing):
                yield from self._create(cluster, "worker", group["groupName"], group)
            yield from self._delete(own[: max(0, -missing)])
        return None

    def _delete(self, pods: list[JsonObject]) -> Steps:
        for each in pods:
            if "deletionTimestamp" not in each["metadata"]:
                yield f"deletes a pod of {label(each, CLUSTER)}"
                Key.of(PODS, each).delete(self.store)
        return None

    def _create(self, cluster: JsonObject, node: str, group: str, spec: JsonObject) -> Steps:
        name = cluster["metadata"]["name"]
        yield f"creates a {node} of {name}"
        own = {**(spec.get("labels") or {}), CLUSTER: name, NODE_TYPE: node, GROUP: group}
        prefix = f"{name}-head-" if node == "head" else f"{name}-{group}-worker-"
        body = from_template(
            spec["template"],
            RAY_CLUSTERS,
            cluster,
            {"ray.io/is-ray-node": "yes", **own},
            generateName=prefix,
        )
        try:
            self.store.create(PODS, cluster["metadata"]["namespace"], body)
        except ApiError as error:
            error.add_note(f"FailedCreate{node.capitalize()}Pod")
            raise
        return None

    def _calculate(self, new: JsonObject, error: Exception | None) -> None:
        """Set the status from the pods as they are now.

        The state stays `ready` once it is: lost pods do not change it.
        """
        status, pods = new["status"], self._pods(new)
        self._report_failure(new, error)
        groups = new["spec"].get("workerGroupSpecs") or []
        workers = [each for each in pods if label(each, NODE_TYPE) == "worker"]
        status["desiredWorkerReplicas"] = sum(map(_desired, groups))
        status["readyWorkerReplicas"] = sum(map(_is_ready, workers))
        status["availableWorkerReplicas"] = sum(phase_of(each) == "Running" for each in workers)
        status["observedGeneration"] = new["metadata"]["generation"]
        all_run = bool(pods) and all(map(_is_ready, pods))
        if error is None and len(pods) == status["desiredWorkerReplicas"] + 1 and all_run:
            status["state"] = "ready"
        self._set(new, "HeadPodReady", any(map(_is_ready_head, pods)), "HeadPodRunningAndReady")
        suspended = _has(new, "RayClusterSuspended")
        if not _has(new, "RayClusterProvisioned") and not suspended:
            self._set(new, "RayClusterProvisioned", all_run, "AllPodRunningAndReadyFirstTime")
        self._steer_suspension(new, bool(pods), suspended)
        if _is_suspended(new) and not pods:
            status["state"] = "suspended"

    def _report_failure(self, new: JsonObject, error: Exception | None) -> None:
        status = new["status"]
        if error is None:
            kept = [e for e in status["conditions"] if e["type"] != "ReplicaFailure"]
            status["conditions"] = kept
        elif notes := getattr(error, "__notes__", None):
            set_condition(new, "ReplicaFailure", "True", notes[0], self.now, str(error))

    def _steer_suspension(self, new: JsonObject, has_pods: bool, suspended: bool) -> None:
        """Suspending, then Suspended once no pod is left; a resumption ends Suspended."""
        if _has(new, "RayClusterSuspending"):
            if not has_pods:
                self._set(new, "RayClusterProvisioned", False, "RayClusterPodsProvisioning")
                self._set(new, "RayClusterSuspending", False, "RayClusterSuspending")
                self._set(new, "RayClusterSuspended", True, "RayClusterSuspended")
        elif not suspended:
            self._set(new, "RayClusterSuspended", False, "RayClusterSuspended")
            self._set(new, "RayClusterSuspending", _is_suspended(new), "RayClusterSuspending")
        elif not _is_suspended(new):
            self._set(new, "RayClusterSuspended", False, "RayClusterSuspended")

    def _set(self, new: JsonObject, kind: str, status: bool, why: str) -> None:
        set_condition(new, kind, "True" if status else "False", why, self.now)


def _has(cluster: JsonObject, kind: str) -> bool:
    return is_true(conditions_of(cluster.get("status") or {}), kind)


def _is_suspended(cluster: JsonObject) -> bool:
    return cluster["spec"].get("suspend") is True


def _desired(group: JsonObject) -> int:
    """Return the group's number of pods, within its bounds (GetWorkerGroupDesiredReplicas)."""
    at_least, at_most = group.get("minReplicas"), group.get("maxReplicas")
    least = 0 if at_least is None else int(at_least)
    most = MAXIMUM_REPLICAS if at_most is None else int(at_most)
    replicas = int(group.get("replicas") or 0)
    return 0 if group.get("suspend") is True else min(max(replicas, least), max(most, least))


def _is_ready(pod: JsonObject) -> bool:
    return phase_of(pod) == "Running" and is_true(conditions_of(pod["status"]), "Ready")


def _is_ready_head(pod: JsonObject) -> bool:
    return label(pod, NODE_TYPE) == "head" and _is_ready(pod)
