"""The controllers of LeaderWorkerSets. The StatefulSet controller makes their pods.

Facts of version 0.9.0: pkg/controllers/leaderworkerset_controller.go (Reconcile, updateConditions),
pkg/controllers/pod_controller.go (Reconcile, handleRestartPolicy) and pkg/webhooks/pod_webhook.go.
Left out: rolling updates, exclusive placement, subgroups, services.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from shared.api.objects import PODS, JsonObject, controller_of, is_being_deleted, label
from tests.simulation.actors.objects import Key, owner_uid, phase_of, set_condition
from tests.simulation.actors.owned import owner_reference, restarts
from tests.simulation.actors.reconciler import Operator, Retry, Steps
from tests.simulation.actors.stateful_set import is_ready, ordinal_of
from tests.simulation.api.kinds import LEADER_WORKER_SETS, STATEFUL_SETS
from tests.simulation.api.store import Write, copied, key_of

_PREFIX: Final = "leaderworkerset.sigs.k8s.io/"
NAME: Final = f"{_PREFIX}name"
GROUP: Final = f"{_PREFIX}group-index"
WORKER: Final = f"{_PREFIX}worker-index"
_RECREATE: Final = "RecreateGroupOnPodRestart"
_AFTER_START: Final = "RecreateGroupAfterStart"
_WAIT: Final = 5.0


class LeaderWorkerSets(Operator):
    """Makes the StatefulSet of the leaders, and writes the status."""

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == LEADER_WORKER_SETS:
            yield key_of(write.item)
        elif write.resource in (STATEFUL_SETS, PODS) and (name := label(write.item, NAME)):
            yield write.item["metadata"]["namespace"], name

    def steps(self, key: Any) -> Steps:
        namespace, name = key
        item = self.store.get(LEADER_WORKER_SETS, namespace, name)
        if item is None or is_being_deleted(item):
            return None
        leaders = self.store.get(STATEFUL_SETS, namespace, name)
        if leaders is not None and is_being_deleted(leaders):
            return _WAIT
        if leaders is None:
            yield f"creates the StatefulSet {name}"
            leaders = self.store.create(STATEFUL_SETS, namespace, _leaders(item))
        elif owner_uid(leaders) != item["metadata"]["uid"]:
            raise Retry("an object has only one controller")
        new = copied(item)
        self._report(new, leaders)
        yield f"writes the status of {name}"
        self.write_status(LEADER_WORKER_SETS, item, new["status"])
        return None

    def _report(self, new: JsonObject, leaders: JsonObject) -> None:
        """Count the groups. Those whose workers' StatefulSet is missing count for nothing."""
        namespace, name = key_of(new)
        ready = begun = 0
        for pod in self.store.items(PODS, namespace):
            if label(pod, NAME) != name or label(pod, WORKER) != "0":
                continue
            workers = self.store.get(STATEFUL_SETS, namespace, pod["metadata"]["name"])
            if _size(new) > 1 and workers is None:
                continue
            begun += 1
            ready += is_ready(pod) and (workers is None or _is_available(workers))
        status = new.setdefault("status", {})
        status["replicas"] = (leaders.get("status") or {}).get("replicas", 0)
        status["readyReplicas"], status["updatedReplicas"] = ready, begun
        status["observedGeneration"] = new["metadata"]["generation"]
        if ready == _replicas(new):
            self._put(new, "Available", "AllGroupsReady", "All replicas are ready", "Progressing")
        else:
            text = "Replicas are progressing"
            self._put(new, "Progressing", "GroupsProgressing", text, "Available")

    def _put(self, new: JsonObject, kind: str, why: str, text: str, other: str) -> None:
        """Set one condition, and the other to False with its old reason and message."""
        for each in list(new["status"].get("conditions") or ()):
            if each["type"] == other:
                set_condition(new, other, "False", each["reason"], self.now, each["message"])
        set_condition(new, kind, "True", why, self.now, text)


class LeaderWorkerPods(Operator):
    """Makes the StatefulSet of each leader's workers, and deletes the leaders of failed groups."""

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == PODS and label(write.item, NAME):
            yield key_of(write.item)
        elif write.resource == STATEFUL_SETS and label(write.item, NAME):
            owner = controller_of(write.item)
            if owner is not None and owner.kind == PODS.kind:
                yield write.item["metadata"]["namespace"], owner.name

    def steps(self, key: Any) -> Steps:
        namespace, name = key
        pod = self.store.get(PODS, namespace, name)
        if pod is None:
            return None
        item = self.store.get(LEADER_WORKER_SETS, namespace, label(pod, NAME) or "")
        if item is None:
            return None
        leader = self._leader_to_delete(item, pod)
        if leader is not None and not is_being_deleted(leader):
            yield f"recreates the group of {leader['metadata']['name']}"
            Key.of(PODS, leader).delete(self.store, propagation="Foreground")
        is_leader = label(pod, WORKER) == "0"
        if leader is not None or not is_leader or is_being_deleted(pod) or _size(item) == 1:
            return None
        if item["spec"].get("startupPolicy") == "LeaderReady" and not is_ready(pod):
            return None
        if self.store.get(STATEFUL_SETS, namespace, name) is None:
            yield f"creates the workers of {name}"
            self.store.create(STATEFUL_SETS, namespace, _workers(item, pod))
        return None

    def _leader_to_delete(self, item: JsonObject, pod: JsonObject) -> JsonObject | None:
        """Return the leader of a group in which a pod restarted or is being deleted."""
        policy = _group(item).get("restartPolicy") or _RECREATE
        if policy not in (_RECREATE, _AFTER_START):
            return None
        if not is_being_deleted(pod) and not (_is_live(pod) and restarts(pod)):
            return None
        namespace, name = key_of(pod)
        if policy == _AFTER_START and self._has_pending(pod):
            return None
        if label(pod, WORKER) == "0":
            return pod
        leader = self.store.get(PODS, namespace, name.rpartition("-")[0])
        workers = self.store.get(STATEFUL_SETS, namespace, name.rpartition("-")[0])
        # A worker of the group's predecessor does not recreate the new group.
        if leader is None or workers is None or owner_uid(pod) != workers["metadata"]["uid"]:
            return None
        return leader if owner_uid(workers) == leader["metadata"]["uid"] else None

    def _has_pending(self, pod: JsonObject) -> bool:
        namespace, _ = key_of(pod)
        return any(
            phase_of(each) == "Pending"
            for each in self.store.items(PODS, namespace)
            if (label(each, NAME), label(each, GROUP)) == (label(pod, NAME), label(pod, GROUP))
        )


def defaulted(pod: JsonObject) -> JsonObject:
    """Return a new pod with the labels of the pod webhook: its group, and its index in it."""
    if label(pod, NAME) and label(pod, WORKER) == "0":
        pod["metadata"]["labels"][GROUP] = str(ordinal_of(pod))
    elif label(pod, NAME):
        pod["metadata"]["labels"][WORKER] = str(ordinal_of(pod))
    return pod


def _group(item: JsonObject) -> JsonObject:
    found: JsonObject = item["spec"]["leaderWorkerTemplate"]
    return found


def _size(item: JsonObject) -> int:
    return int(_group(item).get("size") or 1)


def _replicas(item: JsonObject) -> int:
    return int(1 if item["spec"].get("replicas") is None else item["spec"]["replicas"])


def _is_live(pod: JsonObject) -> bool:
    return phase_of(pod) in ("Running", "Pending")


def _is_available(workers: JsonObject) -> bool:
    available = (workers.get("status") or {}).get("availableReplicas", 0)
    return bool(available == workers["spec"]["replicas"])


def _leaders(item: JsonObject) -> JsonObject:
    name = item["metadata"]["name"]
    template = _group(item).get("leaderTemplate") or _group(item)["workerTemplate"]
    labels = {NAME: name}
    return _stateful_set(
        name,
        _labelled(template, {**labels, WORKER: "0"}),
        _replicas(item),
        labels,
        owner_reference(LEADER_WORKER_SETS, item),
    )


def _workers(item: JsonObject, leader: JsonObject) -> JsonObject:
    labels = {NAME: item["metadata"]["name"], GROUP: label(leader, GROUP) or ""}
    made = _stateful_set(
        leader["metadata"]["name"],
        _labelled(_group(item)["workerTemplate"], labels),
        _size(item) - 1,
        labels,
        owner_reference(PODS, leader),
    )
    made["spec"]["ordinals"] = {"start": 1}
    return made


def _labelled(template: JsonObject, labels: dict[str, str]) -> JsonObject:
    made = copied(template)
    about = made.setdefault("metadata", {})
    about["labels"] = {**(about.get("labels") or {}), **labels}
    return made


def _stateful_set(
    name: str, template: JsonObject, replicas: int, labels: dict[str, str], owner: JsonObject
) -> JsonObject:
    return {
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
        "spec": {
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }
