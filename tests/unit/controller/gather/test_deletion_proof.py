"""When everything is gone: what proves it, and what does not."""

import pytest

from controller.observation import Deployed
from controller.phases.snapshot import (
    PodCounts,
)
from shared.kube.errors import Unreachable
from tests.builders.fake_kube import listed
from tests.builders.gathering import (
    JOBS,
    NOT_FOUND,
    RUNNING_PODS,
    Bench,
    appwrapper,
    facts,
    job,
    raw_pod,
)

DELETING = ("QuotaReserved", "ResourcesDeployed", "DeletingResources")


async def test_what_is_seen_needs_no_proof() -> None:
    for known, pods in ((facts(), ()), (None, RUNNING_PODS)):
        answers = [] if known else [NOT_FOUND, {"metadata": {}}]
        bench = Bench(appwrapper("Suspending", *DELETING), known=known, pods=pods, get=answers)
        snapshot = (await bench.observe()).snapshot
        assert not snapshot.gone
        assert snapshot.stray_pods is (known is None)
        assert bench.kube.called("list_pages") == []


async def test_the_proof_asks_for_components_first_then_for_pods() -> None:
    bench = Bench(
        appwrapper("Suspending", *DELETING, created=False), get=[NOT_FOUND], lists=[[listed(9)]]
    )
    assert (await bench.observe()).snapshot.gone
    assert bench.methods() == ["get", "list_pages"]


@pytest.mark.parametrize("attempt", ["1", "7"])
async def test_a_component_that_only_a_live_read_finds_is_deployed(attempt: str) -> None:
    bench = Bench(
        appwrapper("Suspending", *DELETING, created=False),
        get=[job(attempt=attempt)],
        lists=[[listed(9)]],
    )
    observation = await bench.observe()
    assert not observation.snapshot.gone
    assert observation.deployed == (Deployed(JOBS, "train", "j1", False),)


async def test_a_pod_of_any_attempt_that_only_a_live_list_finds() -> None:
    bench = Bench(
        appwrapper("Suspending", *DELETING, created=False),
        get=[NOT_FOUND],
        lists=[[listed(9, raw_pod("a", "Running", attempt="7"))]],
    )
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.labelled_pods, snapshot.stray_pods) == (False, 1, True)
    assert snapshot.pods == PodCounts()


@pytest.mark.parametrize("failing", ["get", "list_pages"])
async def test_an_error_is_no_proof(failing: str) -> None:
    lost = Unreachable("timed out")
    bench = Bench(
        appwrapper("Suspending", *DELETING, created=False),
        get=[lost if failing == "get" else NOT_FOUND],
        lists=[lost],
    )
    with pytest.raises(Unreachable):
        await bench.observe()


async def test_a_name_that_no_pod_can_carry_as_a_label_has_no_pods() -> None:
    name = "a" * 64
    item = appwrapper("Suspending", *DELETING, created=False, metadata={"name": name})
    bench = Bench(item, get=[NOT_FOUND])
    assert (await bench.observe()).snapshot.gone
    assert bench.methods() == ["get"]


@pytest.mark.parametrize(("attempt", "gone"), [(1, True), (0, False)])
async def test_pods_with_the_name_label_alone(attempt: int, gone: bool) -> None:
    """Only what the Go operator began has such pods; what it made them of may be gone."""
    item = raw_pod("a", "Running")
    item["metadata"]["labels"] = {"workload.codeflare.dev/appwrapper": "train"}
    bench = Bench(
        appwrapper("Suspending", *DELETING, created=False, attempt=attempt),
        get=[NOT_FOUND],
        lists=[[listed(9, item)]],
    )
    observation = await bench.observe()
    assert observation.snapshot.gone is gone
    assert [pod.name for pod in observation.pods] == ([] if gone else ["a"])
