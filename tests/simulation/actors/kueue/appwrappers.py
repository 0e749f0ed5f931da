"""Kueue's generic job reconciler for AppWrappers: it makes, starts, stops and ends.

Facts of Kueue 0.19.2: pkg/controller/jobframework/reconciler.go. The steps of `_proceed` have the
order of ReconcileGenericJob. Kueue patches an AppWrapper with its resourceVersion, and repeats
after a conflict, so a pass here is one atomic step on the newest version.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from shared.api.objects import APPWRAPPERS, NAMESPACES, JsonObject, controller_of
from shared.waits.workload import ADMITTED, EVICTED, FINISHED, WORKLOADS
from shared.waits.workload import QUOTA_RESERVED as RESERVED
from tests.simulation.actors.kueue import jobs, workloads
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.actors.kueue.workloads import PODS_READY, Reason, has, place
from tests.simulation.actors.reconciler import Reconciler, Retry
from tests.simulation.api.kinds import RESOURCE_FLAVORS
from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster


class KueueJobs(Reconciler):
    """One key for each namespace and name, as in Kueue."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        super().__init__(cluster)
        self._settings = settings

    def wants(self, write: Write) -> Iterable[Hashable]:
        if write.resource == APPWRAPPERS:
            yield place(write.item)
        elif write.resource == WORKLOADS:
            owner = controller_of(write.item)
            if owner is not None and owner.kind == "AppWrapper":
                yield write.item["metadata"]["namespace"], owner.name

    def reconcile(self, key: Any) -> float | None:
        namespace, name = key
        appwrapper = self.store.get(APPWRAPPERS, namespace, name)
        if appwrapper is None or workloads.is_going(appwrapper):
            self._finalize(namespace, name)
            return None
        if self.store.get(NAMESPACES, None, namespace) is None or not jobs.queue_of(appwrapper):
            return None
        workload = self._one_workload(appwrapper)
        self._proceed(appwrapper, workload)
        return None

    def _finalize(self, namespace: str, name: str) -> None:
        """Finish the Workloads of an AppWrapper that is being deleted: its quota is free at once.

        Without the feature gate Kueue only removes its finalizer: the quota is free when the
        garbage collector has deleted the Workload.
        """
        for each in workloads.of_owner(self.store.items(WORKLOADS, namespace), name):
            if self._settings.finishes_orphans and not workloads.is_going(each):
                text = "The workload's owner no longer exists"
                self._change(each, workloads.finish, "OwnerNotFound", text, self.moment)
            self._change(each, workloads.without_finalizer)

    def _one_workload(self, appwrapper: JsonObject) -> JsonObject | None:
        """Return the Workload that matches the AppWrapper, and delete all others. Raise Retry."""
        namespace, name = place(appwrapper)
        match: JsonObject | None = None
        others = []
        for each in workloads.of_owner(self.store.items(WORKLOADS, namespace), name):
            if match is None and self._matches(appwrapper, each):
                match = each
            else:
                others.append(each)
        is_suspended = jobs.is_suspended(appwrapper)
        if match is None and others and is_suspended and not has(others[0], RESERVED):
            return self._updated(appwrapper, others[0])
        if match is None and not is_suspended and not jobs.end_of(appwrapper):
            self._stop(appwrapper, others[0] if len(others) == 1 else None)
        deleted = [self._delete(each) for each in others]
        if any(deleted):
            raise Retry("deleted Workloads that do not match")
        return match

    def _matches(self, appwrapper: JsonObject, workload: JsonObject) -> bool:
        owner = controller_of(workload)
        if owner is None:
            return False
        if self._settings.finishes_orphans and owner.uid != appwrapper["metadata"]["uid"]:
            return False
        spec = workload["spec"]
        if spec.get("maximumExecutionTimeSeconds") != jobs.longest_time(appwrapper):
            return False
        wanted = jobs.pod_sets_of(appwrapper)
        return [_compared(each) for each in wanted] == [_compared(each) for each in spec["podSets"]]

    def _updated(self, appwrapper: JsonObject, workload: JsonObject) -> JsonObject | None:
        new = jobs.new_workload(appwrapper, self._settings.priorities)["spec"]

        def update(item: JsonObject) -> None:
            item["spec"] = {**new, "active": item["spec"].get("active", True)}

        return self._change(workload, update)

    def _delete(self, workload: JsonObject) -> bool:
        self._change(workload, workloads.without_finalizer)
        if workloads.is_going(workload):
            return False
        self.store.delete(WORKLOADS, *place(workload), uid=workload["metadata"]["uid"])
        return True

    def _proceed(self, appwrapper: JsonObject, workload: JsonObject | None) -> None:
        if workload is not None and has(workload, FINISHED):
            self._change(workload, workloads.without_finalizer)
        elif workload is not None and workloads.is_going(workload):
            self._stop(appwrapper, workload)
            self._change(workload, workloads.without_finalizer)
        elif end := jobs.end_of(appwrapper):
            if workload is not None:
                self._change(workload, workloads.finish, *end, self.moment)
        elif workload is None:
            # A job that is still active keeps a new Workload waiting.
            if not jobs.holds_resources(appwrapper):
                self.store.create(
                    WORKLOADS,
                    place(appwrapper)[0],
                    jobs.new_workload(appwrapper, self._settings.priorities),
                )
        elif not self._report_pods(appwrapper, workload):
            self._steer(appwrapper, workload)

    def _steer(self, appwrapper: JsonObject, workload: JsonObject) -> None:
        """Stop or start the AppWrapper if the state of its Workload requires that."""
        if has(workload, EVICTED):
            self._stop(appwrapper, workload)
            self._release(appwrapper, workload)
        elif not jobs.is_suspended(appwrapper):
            if not has(workload, ADMITTED):
                self._stop(appwrapper, workload)
        elif has(workload, ADMITTED):
            self._start(appwrapper, workload)
        elif workload["spec"].get("queueName") != jobs.queue_of(appwrapper):
            name = jobs.queue_of(appwrapper)
            self._change(workload, lambda item: item["spec"].update(queueName=name))

    def _release(self, appwrapper: JsonObject, workload: JsonObject) -> None:
        """Take the reservation back, but only once the AppWrapper reports that it is inactive."""
        if jobs.holds_resources(appwrapper) or not has(workload, RESERVED):
            return
        now = self.moment

        def release(item: JsonObject) -> None:
            why = workloads.reason(item, EVICTED)
            text = workloads.message(item, EVICTED)
            again = why in workloads.REQUEUED_AT_ONCE
            workloads.put(item, "Requeued", again, why, text, now)
            workloads.unreserve(item, Reason.PENDING, text, now)

        self._change(workload, release)

    def _report_pods(self, appwrapper: JsonObject, workload: JsonObject) -> bool:
        """Write PodsReady into the Workload if it changes. The pass then ends."""
        if self._settings.pods_ready is None:
            return False
        status, why, text = jobs.pods_condition(appwrapper, workload)
        if workloads.reason(workload, PODS_READY, "True" if status else "False") == why:
            return False
        self._change(workload, workloads.put, PODS_READY, status, why, text, self.moment)
        return True

    def _start(self, appwrapper: JsonObject, workload: JsonObject) -> None:
        infos = [self._info(workload, each) for each in _assignments(workload)]
        try:
            self.store.change(
                APPWRAPPERS,
                *place(appwrapper),
                lambda item: jobs.start(item, infos),
                uid=appwrapper["metadata"]["uid"],
            )
        except jobs.PodSetInfoMismatch as error:
            text = f"invalid podset infos: {error}"
            self._change(workload, workloads.finish, "FailedToStart", text, self.moment)

    def _info(self, workload: JsonObject, assignment: JsonObject) -> JsonObject:
        admission, selector = workload["status"]["admission"], dict[str, str]()
        tolerations: list[JsonObject] = []
        for name in dict.fromkeys(assignment.get("flavors", {}).values()):
            flavor = self.store.get(RESOURCE_FLAVORS, None, name)
            if flavor is None:
                raise Retry(f"ResourceFlavor {name} is missing")
            selector |= flavor.get("spec", {}).get("nodeLabels") or {}
            tolerations += flavor.get("spec", {}).get("tolerations") or []
        return {
            "labels": {
                "kueue.x-k8s.io/podset": assignment["name"],
                "kueue.x-k8s.io/local-queue-name": workload["spec"]["queueName"],
                "kueue.x-k8s.io/cluster-queue-name": admission["clusterQueue"],
            },
            "annotations": {"kueue.x-k8s.io/workload": workload["metadata"]["name"]},
            "nodeSelector": selector,
            "tolerations": tolerations,
        }

    def _change(
        self, workload: JsonObject, function: Callable[..., None], *args: object
    ) -> JsonObject | None:
        uid = workload["metadata"]["uid"]
        return self.store.change(
            WORKLOADS, *place(workload), lambda item: function(item, *args), uid=uid
        )

    def _stop(self, appwrapper: JsonObject, workload: JsonObject | None) -> None:
        if not jobs.is_suspended(appwrapper):
            restore = workload is not None
            self.store.change(
                APPWRAPPERS,
                *place(appwrapper),
                lambda item: jobs.stop(item, restore=restore),
                uid=appwrapper["metadata"]["uid"],
            )


def _assignments(workload: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = workload["status"]["admission"]["podSetAssignments"]
    return found


def _compared(pod_set: JsonObject) -> JsonObject:
    """Return what Kueue compares: count and containers, not the name."""
    spec = pod_set["template"]["spec"]
    return {
        "count": pod_set["count"],
        **{field: spec.get(field) for field in ("initContainers", "containers")},
    }
