"""Kueue suspends the Jobs inside an AppWrapper that holds no admission.

Facts of Kueue 0.19.2: shouldSuspendChildJob and FindAncestorJobManagedByKueue of
pkg/controller/jobframework/reconciler.go. Only a write to the Job itself starts a pass: an
AppWrapper that loses its admission does not. Kueue never unsuspends such a Job.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from shared.api.names import LABEL_QUEUE_NAME
from shared.api.objects import APPWRAPPERS, JsonObject, Resource, controller_of, label
from shared.waits.workload import ADMITTED, FINISHED, WORKLOADS
from tests.simulation.actors.kueue import workloads
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.actors.kueue.workloads import has
from tests.simulation.actors.reconciler import Reconciler, Retry
from tests.simulation.api.kinds import BY_OBJECT, JOB_SETS, JOBS, PYTORCH_JOBS, RAY_CLUSTERS
from tests.simulation.api.store import Write, key_of
from tests.simulation.cluster import Cluster

# How each Kind reports its end.
_ENDS: Final[dict[Resource, tuple[str, ...]]] = {
    JOBS: ("Complete", "Failed"),
    PYTORCH_JOBS: ("Succeeded", "Failed"),
    JOB_SETS: ("Completed", "Failed"),
    RAY_CLUSTERS: (),
}


class KueueChildren(Reconciler):
    """One key for each Job, PyTorchJob, JobSet or RayCluster of the configured Kinds."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        super().__init__(cluster)
        self._kinds = settings.children

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource in self._kinds and write.type != "DELETED":
            yield write.resource, *key_of(write.item)

    def reconcile(self, key: Any) -> None:
        resource, namespace, name = key
        job = self.store.get(resource, namespace, name)
        if job is None or workloads.is_going(job):
            return
        ancestor = self._ancestor(job)
        ended = any(has(job, each) for each in _ENDS[resource])
        if ancestor is None or ended or _holder(resource, job).get("suspend") is True:
            return
        if not self._is_admitted(ancestor):
            self.store.change(
                resource,
                namespace,
                name,
                lambda item: _holder(resource, item).update(suspend=True),
                uid=job["metadata"]["uid"],
            )

    def _ancestor(self, job: JsonObject) -> JsonObject | None:
        """Return the topmost owner with a queue. Raise Retry if an owner is missing."""
        found = None
        while (owner := controller_of(job)) is not None:
            resource = BY_OBJECT.get((owner.api_version, owner.kind))
            if resource is None or resource not in (*_ENDS, APPWRAPPERS):
                break
            parent = self.store.get(resource, job["metadata"]["namespace"], owner.name)
            if parent is None:
                raise Retry(f"{owner.kind} {owner.name} is missing")
            if parent["metadata"]["uid"] != owner.uid:
                break
            if label(parent, LABEL_QUEUE_NAME):
                found = parent
            job = parent
        return found

    def _is_admitted(self, ancestor: JsonObject) -> bool:
        """True if the newest unfinished Workload of the AppWrapper is admitted."""
        namespace, name = key_of(ancestor)
        unfinished = [
            each
            for each in workloads.of_owner(self.store.items(WORKLOADS, namespace), name)
            if not has(each, FINISHED)
        ]
        return bool(unfinished) and has(unfinished[-1], ADMITTED)


def _holder(resource: Resource, job: JsonObject) -> JsonObject:
    """Return the object whose field `suspend` suspends the job."""
    spec: JsonObject = job["spec"]
    if resource == PYTORCH_JOBS:
        policy: JsonObject = spec.setdefault("runPolicy", {})
        return policy
    return spec
