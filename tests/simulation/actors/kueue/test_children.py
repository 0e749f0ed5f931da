"""When Kueue suspends a Job inside an AppWrapper. Source: jobframework/reconciler.go."""

from shared.api.objects import APPWRAPPERS, JsonObject
from tests.simulation.actors.kueue.bench import JOB, NAMESPACE, Bench
from tests.simulation.actors.kueue.settings import WITH_JOBS
from tests.simulation.api.kinds import JOBS


def make_job(bench: Bench, uid: str, name: str = "main") -> None:
    owner = {
        "apiVersion": APPWRAPPERS.gvk.api_version,
        "kind": APPWRAPPERS.kind,
        "name": "a",
        "uid": uid,
        "controller": True,
    }
    metadata = {"name": name, "ownerReferences": [owner]}
    bench.store.create(JOBS, NAMESPACE, {"metadata": metadata, "spec": JOB["spec"]})
    bench.run()


def job(bench: Bench) -> JsonObject:
    found = bench.store.get(JOBS, NAMESPACE, "main")
    assert found is not None
    return found


def test_a_job_of_an_admitted_appwrapper_runs() -> None:
    bench = Bench(WITH_JOBS)
    make_job(bench, bench.started("a"))
    assert "suspend" not in job(bench)["spec"]


def test_a_job_that_is_made_without_admission_is_suspended() -> None:
    """shouldSuspendChildJob: the Workload is not admitted."""
    bench = Bench(WITH_JOBS, pods="0")
    uid = bench.submit("a")
    bench.run()
    make_job(bench, uid)
    assert job(bench)["spec"]["suspend"] is True


def test_a_job_is_suspended_at_its_next_write_after_the_appwrapper_finished() -> None:
    """shouldSuspendChildJob: there is no unfinished Workload; only Job events start a pass."""
    bench = Bench(WITH_JOBS)
    make_job(bench, bench.started("a"))
    bench.report("a", "Succeeded", QuotaReserved=False)
    assert "suspend" not in job(bench)["spec"]
    bench.store.change(JOBS, NAMESPACE, "main", lambda item: item.update(status={"active": 1}))
    bench.run()
    assert job(bench)["spec"]["suspend"] is True


def test_a_kind_without_an_integration_is_left_alone() -> None:
    bench = Bench(pods="0")
    uid = bench.submit("a")
    bench.run()
    make_job(bench, uid)
    assert "suspend" not in job(bench)["spec"]
