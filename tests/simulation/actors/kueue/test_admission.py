"""How Kueue admits and starts an AppWrapper. Sources: jobframework/reconciler.go, scheduler.go."""

from shared.api.objects import APPWRAPPERS
from shared.waits.workload import WORKLOADS
from tests.simulation.actors.kueue.bench import NAMESPACE, Bench
from tests.simulation.actors.kueue.quota import Why
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.actors.kueue.workloads import FINALIZER


def test_a_queued_appwrapper_gets_a_workload_and_starts() -> None:
    """reconciler.go: constructWorkload, startJob; scheduler.go: admit."""
    bench = Bench()
    uid = bench.submit("a")
    assert bench.is_suspended("a")
    bench.run()
    workload = bench.workload(uid)
    assert workload["metadata"]["finalizers"] == [FINALIZER]
    assert workload["metadata"]["name"].startswith("appwrapper-a-")
    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("a-0", 2)]
    assert bench.conditions(uid) == {"QuotaReserved": "QuotaReserved", "Admitted": "Admitted"}
    assert "suspend" not in bench.appwrapper("a")["spec"]


def test_the_start_drops_unknown_fields_of_every_component_and_keeps_others() -> None:
    """util/client/client.go: a merge patch replaces the array of Go-typed components."""
    bench = Bench()
    bench.submit("a", annotations={"x": "y"}, ours="lost")
    bench.run()
    (component,) = bench.appwrapper("a")["spec"]["components"]
    assert set(component) == {"annotations", "podSetInfos", "template"}
    (info,) = component["podSetInfos"]
    assert info["nodeSelector"] == {"gpu": "fast"}
    assert info["labels"]["kueue.x-k8s.io/podset"] == "a-0"


def test_without_quota_it_waits_and_starts_a_second_after_a_release() -> None:
    """inadmissible_workloads.go: requeueBatchPeriod."""
    bench = Bench()
    bench.started("a")
    second = bench.submit("b")
    bench.run()
    (condition,) = [
        each
        for each in bench.workload(second)["status"]["conditions"]
        if each["type"] == "QuotaReserved"
    ]
    assert (condition["status"], condition["reason"]) == ("False", "Pending")
    assert "insufficient unused quota for pods" in condition["message"]
    bench.report("a", "Succeeded", QuotaReserved=False)
    assert not bench.is_suspended("b")
    assert [each.why for each in bench.released] == [Why.FINISHED]


def test_a_failed_appwrapper_keeps_its_quota_until_its_resources_are_gone() -> None:
    """appwrapper_controller.go: Finished."""
    bench = Bench()
    uid = bench.started("a")
    bench.report("a", "Failed", ResourcesDeployed=True)
    assert bench.released == []
    bench.report("a", "Failed", ResourcesDeployed=False, QuotaReserved=False)
    assert bench.conditions(uid)["Finished"] == "Failed"
    assert [each.why for each in bench.released] == [Why.FINISHED]
    assert "finalizers" not in bench.workload(uid)["metadata"]


def test_an_unsuspended_appwrapper_without_admission_is_suspended() -> None:
    """reconciler.go, step 8: Not admitted by cluster queue."""
    bench = Bench(pods="0")
    bench.submit("a")
    bench.run()
    bench.store.change(APPWRAPPERS, NAMESPACE, "a", lambda item: item["spec"].update(suspend=False))
    bench.run()
    assert bench.is_suspended("a")


def test_a_deleted_appwrapper_gives_its_quota_back_at_once() -> None:
    """workload.go: FinalizeOrphanedWorkload, with the gate FinishOrphanedWorkloads."""
    bench = Bench()
    bench.submit("a")
    bench.store.change(
        APPWRAPPERS, NAMESPACE, "a", lambda item: item["metadata"].update(finalizers=["x/y"])
    )
    bench.run()
    bench.report("a", "Running", QuotaReserved=True, ResourcesDeployed=True)
    bench.store.delete(APPWRAPPERS, NAMESPACE, "a")
    bench.run()
    assert [each.why for each in bench.released] == [Why.ORPHANED]
    (workload,) = bench.store.items(WORKLOADS)
    assert "finalizers" not in workload["metadata"]


def test_an_older_kueue_keeps_the_quota_until_the_workload_is_gone() -> None:
    """Kueue 0.16: finalize only removes the finalizer; the garbage collector deletes the rest."""
    bench = Bench(Settings(finishes_orphans=False))
    bench.started("a")
    bench.store.delete(APPWRAPPERS, NAMESPACE, "a")
    bench.run()
    assert bench.released == []
    (workload,) = bench.store.items(WORKLOADS)
    bench.store.delete(WORKLOADS, NAMESPACE, workload["metadata"]["name"])
    assert [each.why for each in bench.released] == [Why.DELETED]


def test_changed_pod_sets_stop_a_running_appwrapper() -> None:
    """reconciler.go: ensureOneWorkload, No matching Workload; the Workload is deleted."""
    bench = Bench()
    bench.started("a")
    pod_sets = [{"path": "template.spec.template", "replicas": 1}]

    def change(item: dict[str, object]) -> None:
        item["status"] |= {"componentStatus": [{"podSets": pod_sets}]}  # type: ignore[operator]

    bench.store.change(APPWRAPPERS, NAMESPACE, "a", change)
    bench.run()
    assert bench.is_suspended("a")
    assert bench.store.items(WORKLOADS) == []  # a new one waits for QuotaReserved to be False
    bench.stopped("a")
    assert not bench.is_suspended("a")
