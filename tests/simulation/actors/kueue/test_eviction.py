"""How Kueue evicts. Sources: workload_controller.go, evict.go, preemption.go, reconciler.go."""

from shared.waits.quota import CLUSTER_QUEUES
from shared.waits.workload import WORKLOADS
from tests.simulation.actors.kueue.bench import Bench
from tests.simulation.actors.kueue.quota import WAITED_FOR, Why
from tests.simulation.actors.kueue.settings import PodsReady, Settings

HIGH = {"kueue.x-k8s.io/priority-class": "high"}


def test_a_higher_priority_preempts_and_waits_until_the_victim_has_stopped() -> None:
    """preemption.go: IssuePreemptions; reconciler.go, step 6: the reservation stays until then."""
    bench = Bench(Settings(priorities={"high": 10}))
    low = bench.started("low")
    high = bench.submit("high", labels=HIGH)
    bench.run()
    conditions = bench.conditions(low)
    assert conditions["Preempted"] == "InClusterQueue"
    assert conditions["Evicted"] == "Preempted"
    assert conditions["QuotaReserved"] == "QuotaReserved"
    assert bench.is_suspended("low")
    assert "podSetInfos" not in bench.appwrapper("low")["spec"]["components"][0]
    assert bench.released == []
    assert bench.is_suspended("high")
    bench.stopped("low")
    assert not bench.is_suspended("high")
    assert [(each.uid, each.why) for each in bench.released] == [(low, Why.STOPPED)]
    assert bench.conditions(low) == {
        "Preempted": "InClusterQueue",
        "Evicted": "Preempted",
        "Requeued": "Preempted",
    }
    bench.report("high", "Succeeded")
    assert not bench.is_suspended("low")
    assert "Evicted" not in bench.conditions(low)
    assert high != low


def test_a_deactivated_workload_gives_its_quota_back_before_the_appwrapper_stops() -> None:
    """workload_controller.go, Update: an inactive Workload leaves the cache at once."""
    bench = Bench()
    uid = bench.started("a")
    bench.user.deactivate("a")
    assert [each.why for each in bench.released] == [Why.DEACTIVATED]
    assert Why.DEACTIVATED not in WAITED_FOR
    bench.run()
    assert bench.conditions(uid)["Evicted"] == "Deactivated"
    assert bench.is_suspended("a")
    bench.stopped("a")
    assert "QuotaReserved" not in bench.conditions(uid)
    bench.run(3600)
    assert bench.is_suspended("a")
    bench.user.deactivate("a", active=True)
    bench.run()
    assert bench.conditions(uid)["Requeued"] == "Reactivated"
    assert not bench.is_suspended("a")


def test_unready_pods_are_evicted_and_requeued_after_a_growing_backoff() -> None:
    """workload_controller.go: reconcileNotReadyTimeout; workload.go: UpdateRequeueState."""
    bench = Bench(Settings(pods_ready=PodsReady(timeout=100, limit=2)))
    uid = bench.submit("a")
    bench.run()
    for count, backoff in ((1, 60), (2, 120)):
        bench.report("a", "Resuming", QuotaReserved=True, ResourcesDeployed=True, PodsReady=False)
        bench.run(110)
        assert bench.conditions(uid)["Evicted"] == "PodsReadyTimeout"
        assert bench.workload(uid)["status"]["requeueState"]["count"] == count
        bench.stopped("a")
        bench.run(backoff - 60)
        assert bench.is_suspended("a")
        bench.run(60)
        assert not bench.is_suspended("a")
    bench.report("a", "Resuming", QuotaReserved=True, ResourcesDeployed=True, PodsReady=False)
    bench.run(110)
    assert bench.conditions(uid)["Evicted"] == "DeactivatedDueToRequeuingLimitExceeded"
    assert bench.workload(uid)["spec"]["active"] is False
    (timeouts,) = [
        each
        for each in bench.workload(uid)["status"]["schedulingStats"]["evictions"]
        if each["reason"] == "PodsReadyTimeout"
    ]
    assert timeouts == {
        "reason": "PodsReadyTimeout",
        "underlyingCause": "WaitForStart",
        "count": 2,
    }


def test_pods_that_were_ready_get_the_recovery_timeout() -> None:
    """reconciler.go: generatePodsReadyCondition, WaitForRecovery."""
    bench = Bench(Settings(pods_ready=PodsReady(timeout=10, recovery=100)))
    uid = bench.started("a")
    bench.run(1000)
    bench.report("a", "Running", PodsReady=False)
    bench.run(80)
    assert "Evicted" not in bench.conditions(uid)
    bench.run(20)
    assert bench.conditions(uid)["Evicted"] == "PodsReadyTimeout"


def test_an_appwrapper_that_succeeds_while_it_is_evicted_has_finished() -> None:
    """reconciler.go: Finished is read before Evicted."""
    bench = Bench()
    uid = bench.started("a")
    bench.kueue.preempt(uid)
    bench.report("a", "Succeeded")
    assert bench.conditions(uid)["Finished"] == "Succeeded"
    assert not bench.is_suspended("a")


def test_a_drained_queue_evicts_and_a_restarted_one_admits_again() -> None:
    """workload_controller.go: reconcileOnClusterQueueActiveState, ClusterQueueRestarted."""
    bench = Bench()
    uid = bench.started("a")
    bench.user.stop_cluster_queue("shared", "Hold")
    bench.run()
    assert not bench.is_suspended("a")
    bench.user.stop_cluster_queue("shared", "HoldAndDrain")
    bench.run()
    assert bench.conditions(uid)["Evicted"] == "ClusterQueueStopped"
    bench.stopped("a")
    bench.run(100)
    assert bench.is_suspended("a")
    bench.user.stop_cluster_queue("shared", "None")
    bench.run()
    assert bench.conditions(uid)["Requeued"] == "ClusterQueueRestarted"
    assert not bench.is_suspended("a")


def test_an_admission_check_delays_the_start_and_its_rejection_deactivates() -> None:
    """admissionchecks.go: SyncAdmittedCondition; reconcileCheckBasedEviction."""
    bench = Bench()
    strategy = {"admissionChecks": [{"name": "budget"}]}
    bench.store.change(
        CLUSTER_QUEUES,
        None,
        "shared",
        lambda item: item["spec"].update(admissionChecksStrategy=strategy),
    )
    uid = bench.submit("a")
    bench.run()
    assert bench.conditions(uid) == {"QuotaReserved": "QuotaReserved"}
    assert bench.is_suspended("a")
    bench.kueue.decide(uid, "budget", "Ready")
    bench.run()
    assert not bench.is_suspended("a")
    bench.report("a", "Running", QuotaReserved=True, ResourcesDeployed=True)
    bench.kueue.decide(uid, "budget", "Rejected")
    bench.run()
    assert bench.conditions(uid)["Evicted"] == "DeactivatedDueToAdmissionCheck"
    assert bench.is_suspended("a")


def test_the_maximum_time_deactivates() -> None:
    """workload_controller.go: reconcileMaxExecutionTime."""
    bench = Bench()
    uid = bench.started("a", **{"kueue.x-k8s.io/max-exec-time-seconds": "60"})
    bench.run(60)
    assert bench.conditions(uid)["Evicted"] == "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert [each.why for each in bench.released] == [Why.DEACTIVATED]


def test_a_deleted_workload_stops_the_appwrapper_and_is_made_again() -> None:
    """reconciler.go, step 1.1: Workload is deleted."""
    bench = Bench()
    uid = bench.started("a")
    bench.kueue.delete_workload(uid)
    bench.run()
    assert bench.is_suspended("a")
    assert bench.store.items(WORKLOADS) == []
    assert [each.why for each in bench.released] == [Why.DELETED]
    bench.stopped("a")
    assert not bench.is_suspended("a")
