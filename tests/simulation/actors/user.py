"""Users of one team: they submit, change and delete. Each act is one request that succeeds.

The webhook does not run here, so an act must be one that it permits.
"""

from collections.abc import Callable, Mapping

from shared.api.names import ANNOTATION_HOLD, LABEL_COMPONENT, LABEL_UID
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource, is_being_deleted, label
from shared.waits.quota import CLUSTER_QUEUES
from shared.waits.workload import WORKLOADS
from tests.simulation.actors.objects import Key, owner_uid
from tests.simulation.api.kinds import LOCAL_QUEUES, SERVED
from tests.simulation.cluster import Cluster


class User:
    """Acts in one namespace. Acts that may end pods are noted as causes of retries."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.store = cluster.store
        self.namespace = namespace

    def apply(self, body: JsonObject) -> JsonObject:
        """Create the AppWrapper, or set its labels and annotations, as `kubectl apply` does."""
        name = body["metadata"]["name"]
        self._tell(f"applies {name}")
        if self.store.get(APPWRAPPERS, self.namespace, name) is None:
            return self.store.create(APPWRAPPERS, self.namespace, body)

        def change(item: JsonObject) -> None:
            for part in ("labels", "annotations"):
                item["metadata"].setdefault(part, {}).update(body["metadata"].get(part) or {})

        changed = self.store.change(APPWRAPPERS, self.namespace, name, change)
        assert changed is not None
        return changed

    def relabel(self, resource: Resource, name: str, labels: Mapping[str, str | None]) -> None:
        """Set labels of any object; None removes a label."""
        self._tell(f"labels {resource.plural}/{name} {dict(labels)}")

        def change(item: JsonObject) -> None:
            held = item["metadata"].setdefault("labels", {})
            for key, value in labels.items():
                if value is None:
                    held.pop(key, None)
                else:
                    held[key] = value

        self.store.change(resource, self.namespace, name, change)

    def annotate(self, name: str, key: str, value: str) -> None:
        """Set an annotation of an AppWrapper."""
        self._tell(f"annotates {name} {key}={value}")
        self._change(
            APPWRAPPERS,
            name,
            lambda item: item["metadata"].setdefault("annotations", {}).update({key: value}),
        )

    def hold(self, name: str) -> None:
        """Hold an AppWrapper, as `appwrapper hold` does."""
        self.annotate(name, ANNOTATION_HOLD, "true")

    def release(self, name: str) -> None:
        """Release an AppWrapper, as `appwrapper release` does."""
        self._tell(f"releases {name}")
        self._change(
            APPWRAPPERS,
            name,
            lambda item: (item["metadata"].get("annotations") or {}).pop(ANNOTATION_HOLD, None),
        )

    def suspend(self, name: str) -> None:
        """Set spec.suspend. Kueue unsuspends an AppWrapper that it has admitted."""
        self._tell(f"suspends {name}")
        self._change(APPWRAPPERS, name, lambda item: item["spec"].update(suspend=True))

    def delete(self, name: str, propagation: str = "Background") -> None:
        """Delete an AppWrapper."""
        self._tell(f"deletes {name} ({propagation})")
        self.store.delete(APPWRAPPERS, self.namespace, name, propagation=propagation)

    def delete_component(
        self, name: str, index: int = 0, propagation: str | None = "Background"
    ) -> bool:
        """Delete a component. False if there is none. `propagation` None: the Kind's default."""
        uid = self._uid(name)
        for resource in SERVED:
            for item in self.store.items(resource, self.namespace):
                own = label(item, LABEL_UID) == uid and label(item, LABEL_COMPONENT) == str(index)
                if own and (owner_uid(item) == uid or resource != PODS):
                    self._delete(resource, item, propagation=propagation)
                    return True
        return False

    def delete_pod(self, name: str, number: int = 0, grace: int | None = None) -> bool:
        """Delete a pod of an AppWrapper, in the order of creation. False if there is none."""
        uid = self._uid(name)
        pods = [
            each
            for each in self.store.items(PODS, self.namespace)
            if label(each, LABEL_UID) == uid and not is_being_deleted(each)
        ]
        if number >= len(pods):
            return False
        self._delete(PODS, pods[number], grace=grace)
        return True

    def deactivate(self, name: str, *, active: bool = False) -> None:
        """Set `active` of the AppWrapper's Workload: Kueue evicts it until it is active again."""
        uid = self._uid(name)
        for item in self.store.items(WORKLOADS, self.namespace):
            if owner_uid(item) == uid:
                self._tell(f"sets active={active} of the Workload of {name}")
                Key.of(WORKLOADS, item).change(
                    self.store, lambda held: held["spec"].update(active=active)
                )

    def stop_queue(self, name: str, policy: str = "HoldAndDrain") -> None:
        """Stop a LocalQueue: None, Hold or HoldAndDrain."""
        self._tell(f"sets stopPolicy={policy} of LocalQueue {name}")
        self._change(LOCAL_QUEUES, name, lambda item: item["spec"].update(stopPolicy=policy))

    def stop_cluster_queue(self, name: str, policy: str = "HoldAndDrain") -> None:
        """Stop a ClusterQueue, as an admin does."""
        self._tell(f"sets stopPolicy={policy} of ClusterQueue {name}")
        self.store.change(
            CLUSTER_QUEUES, None, name, lambda item: item["spec"].update(stopPolicy=policy)
        )

    def _change(
        self, resource: Resource, name: str, function: Callable[[JsonObject], None]
    ) -> None:
        self.store.change(resource, self.namespace, name, function)

    def _delete(self, resource: Resource, item: JsonObject, **options: object) -> None:
        name = item["metadata"]["name"]
        self._tell(f"deletes {resource.plural}/{name} {options}")
        self.cluster.causes.add_for(item, f"the user deleted {resource.plural}/{name}")
        self.cluster.causes.deleted.add(item["metadata"]["uid"])
        Key.of(resource, item).delete(self.store, **options)

    def _uid(self, name: str) -> str:
        item = self.store.get(APPWRAPPERS, self.namespace, name)
        return "" if item is None else str(item["metadata"]["uid"])

    def _tell(self, text: str) -> None:
        self.cluster.tell(f"user of {self.namespace}: {text}")
