"""Kueue's reasons to evict a Workload that holds quota: stopped queues, checks, and time.

Facts of Kueue 0.19.2: pkg/controller/core/workload_controller.go, reconcileCheckBasedEviction,
reconcileOnLocalQueueActiveState, reconcileOnClusterQueueActiveState, reconcileNotReadyTimeout,
triggerDeactivation and reconcileMaxExecutionTime.
"""

from collections.abc import Callable
from datetime import datetime

from shared.api.objects import JsonObject
from shared.waits.workload import ADMITTED, EVICTED, WORKLOADS
from tests.simulation.actors.kueue import workloads
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.actors.kueue.workloads import (
    DEACTIVATION_TARGET,
    PODS_READY,
    Reason,
    has,
    place,
    put,
    reason,
    since,
)
from tests.simulation.cluster import Cluster


class Evictions:
    """Evicts Workloads. `by_time` returns the seconds until the next check; None: none is needed.

    The other public methods return True if they wrote.
    """

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        self._cluster = cluster
        self._settings = settings

    @property
    def moment(self) -> datetime:
        return self._cluster.clock.now()

    def by_stopped_queue(
        self, workload: JsonObject, kind: str, queue: JsonObject | None, why: Reason
    ) -> bool:
        """Evict a Workload of a drained queue; hold one that is not admitted. Return if written."""
        policy = None if queue is None else policy_of(queue)
        if has(workload, ADMITTED):
            if policy != "HoldAndDrain" or has(workload, EVICTED):
                return False
            text = f"The {kind} is stopped"
            self._change(workload, lambda item: workloads.evict(item, why, text, self.moment))
            return True
        if policy == "None":
            return False
        state = "terminating or missing" if policy is None else "stopped"
        text = f"{kind} is {state}"
        self._change(
            workload,
            lambda item: workloads.unreserve(item, Reason.INADMISSIBLE, text, self.moment),
        )
        return True

    def by_checks(self, workload: JsonObject) -> bool:
        if has(workload, EVICTED):
            return False
        if rejected := workloads.checks(workload, "Rejected"):
            text = f'AdmissionCheck in Rejected state: "{rejected[0]["name"]}"'
            self._target(workload, Reason.ADMISSION_CHECK, text)
            return True
        if repeated := workloads.checks(workload, "Retry"):
            text = f'Evicted due to AdmissionCheck in Retry state: "{repeated[0]["name"]}"'
            self._change(
                workload,
                lambda item: workloads.evict(item, Reason.ADMISSION_CHECK, text, self.moment),
            )
            return True
        return False

    def _target(self, workload: JsonObject, why: str, text: str) -> None:
        """Ask for the deactivation: the next pass sets spec.active to false."""
        self._change(
            workload, lambda item: put(item, DEACTIVATION_TARGET, True, why, text, self.moment)
        )

    def by_time(self, workload: JsonObject) -> float | None:
        waits = [self._unready(workload), self._too_long(workload)]
        return min((each for each in waits if each), default=None)

    def _too_long(self, workload: JsonObject) -> float:
        longest = workload["spec"].get("maximumExecutionTimeSeconds")
        if longest is None or not has(workload, ADMITTED) or has(workload, DEACTIVATION_TARGET):
            return 0.0
        past = workload["status"].get("accumulatedPastExecutionTimeSeconds") or 0
        left = longest - past - (self.moment - since(workload, ADMITTED)).total_seconds()
        if left > 0:
            return float(left)
        self._target(workload, Reason.MAXIMUM_TIME, "exceeding the maximum execution time")
        return 0.0

    def _unready(self, workload: JsonObject) -> float:
        """Evict a Workload whose pods were unready for too long. Return the seconds left, or 0."""
        periods = self._settings.pods_ready
        if periods is None or has(workload, EVICTED) or not has(workload, ADMITTED):
            return 0.0
        if has(workload, PODS_READY):
            return 0.0
        cause = reason(workload, PODS_READY, "False") or str(Reason.WAIT_FOR_START)
        recovering = cause == Reason.WAIT_FOR_RECOVERY
        longest = periods.recovery if recovering else periods.timeout
        if longest is None:
            return 0.0
        began = since(workload, PODS_READY if recovering else ADMITTED)
        left = longest - (self.moment - began).total_seconds()
        if left > 0:
            return left
        count = ((workload["status"].get("requeueState") or {}).get("count") or 0) + 1
        if periods.limit is not None and count > periods.limit:
            text = "exceeding the maximum number of re-queuing retries"
            self._target(workload, Reason.REQUEUING_LIMIT, text)
            return 0.0
        namespace, name = place(workload)

        def change(item: JsonObject) -> None:
            workloads.put_off(item, periods.first_backoff, periods.longest_backoff, self.moment)
            text = f"Exceeded the PodsReady timeout {namespace}/{name}"
            workloads.evict(item, Reason.PODS_READY_TIMEOUT, text, self.moment, cause=cause)

        self._change(workload, change)
        return 0.0

    def _change(self, workload: JsonObject, function: Callable[[JsonObject], None]) -> None:
        uid = workload["metadata"]["uid"]
        self._cluster.store.change(WORKLOADS, *place(workload), function, uid=uid)


def policy_of(queue: JsonObject) -> str:
    """Return the stopPolicy of a LocalQueue or ClusterQueue."""
    return str(queue["spec"].get("stopPolicy") or "None")
