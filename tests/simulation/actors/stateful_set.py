"""The StatefulSet controller, as far as LeaderWorkerSets and wrapped StatefulSets need it.

Facts of Kubernetes: pkg/controller/statefulset/stateful_set_control.go (updateStatefulSet,
processReplica, processCondemned). Left out: updates of the template, claims, adoption.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from shared.api.conditions import conditions_of, is_true
from shared.api.objects import PODS, JsonObject, controller_of, is_being_deleted
from tests.simulation.actors.objects import Key, has_ended, phase_of
from tests.simulation.actors.owned import from_template, owned
from tests.simulation.actors.reconciler import Operator, Steps
from tests.simulation.api.kinds import STATEFUL_SETS
from tests.simulation.api.store import Write, key_of
from tests.simulation.cluster import Cluster


class StatefulSetController(Operator):
    """One key for each namespace and name. `webhook` changes each new pod, as admission does."""

    def __init__(
        self, cluster: Cluster, webhook: Callable[[JsonObject], JsonObject] = lambda pod: pod
    ) -> None:
        super().__init__(cluster)
        self._webhook = webhook

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == STATEFUL_SETS:
            yield key_of(write.item)
        elif write.resource == PODS:
            owner = controller_of(write.item)
            if owner is not None and owner.kind == STATEFUL_SETS.kind:
                yield write.item["metadata"]["namespace"], owner.name

    def steps(self, key: Any) -> Steps:
        item = self.store.get(STATEFUL_SETS, *key)
        if item is None:
            return None
        pods = owned(self.store, PODS, item)
        if not is_being_deleted(item):
            yield from self._scale(item, pods)
        pods = owned(self.store, PODS, item)
        yield f"writes the status of {item['metadata']['name']}"
        self.write_status(STATEFUL_SETS, item, _status(item, pods))
        return None

    def _scale(self, item: JsonObject, pods: list[JsonObject]) -> Steps:
        """Replace ended pods, create missing ones, and delete those beyond the replicas.

        A replacement has the name of its predecessor, so it waits until that is gone. In order,
        each pod waits until the one before it is ready.
        """
        spec = item["spec"]
        in_order = spec.get("podManagementPolicy") != "Parallel"
        first = int((spec.get("ordinals") or {}).get("start") or 0)
        wanted = range(first, first + int(1 if spec.get("replicas") is None else spec["replicas"]))
        by_ordinal = {ordinal_of(each): each for each in pods}
        for ordinal in wanted:
            pod = by_ordinal.get(ordinal)
            if pod is None:
                yield f"creates {item['metadata']['name']}-{ordinal}"
                pod_body = self._webhook(_pod(item, ordinal))
                self.store.create(PODS, item["metadata"]["namespace"], pod_body)
            elif has_ended(pod):
                yield from self._delete(pod)
            if in_order and (pod is None or is_being_deleted(pod) or not is_ready(pod)):
                return None
        for ordinal in sorted(by_ordinal.keys() - set(wanted), reverse=True):
            yield from self._delete(by_ordinal[ordinal])
            if in_order:
                return None
        return None

    def _delete(self, pod: JsonObject) -> Steps:
        if not is_being_deleted(pod):
            yield f"deletes {pod['metadata']['name']}"
            Key.of(PODS, pod).delete(self.store)
        return None


def ordinal_of(pod: JsonObject) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])


def is_ready(pod: JsonObject) -> bool:
    return phase_of(pod) == "Running" and is_true(conditions_of(pod["status"]), "Ready")


def _pod(item: JsonObject, ordinal: int) -> JsonObject:
    name = f"{item['metadata']['name']}-{ordinal}"
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
    }
    return from_template(item["spec"]["template"], STATEFUL_SETS, item, labels, name=name)


def _status(item: JsonObject, pods: list[JsonObject]) -> JsonObject:
    ready = sum(is_ready(each) and not is_being_deleted(each) for each in pods)
    return {
        "observedGeneration": item["metadata"]["generation"],
        "replicas": len(pods),
        "readyReplicas": ready,
        "availableReplicas": ready,
    }
