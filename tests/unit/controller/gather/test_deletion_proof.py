"""When everything is gone: what proves it, and what does not."""

from typing import Any

import pytest

from controller.facts.deployed import DeployedObject
from controller.phases.snapshot import CreateProblem, PodCounts
from shared.kube.client import Forbidden, Invalid, NotFound, Unreachable
from tests.support.builders.gathering import (
    NOT_FOUND,
    RUNNING_PODS,
    TEMPLATE,
    Gathering,
    appwrapper,
    facts,
    job,
    raw_pod,
)
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_kube import listed

DELETING = ("QuotaReserved", "ResourcesDeployed", "PodsReady", "DeletingResources")


async def test_an_observed_object_needs_no_proof() -> None:
    bench = Gathering(appwrapper("Suspending", *DELETING), known=facts(), pods=RUNNING_PODS)
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.stray_pods) == (False, False)
    assert bench.methods() == []


async def test_pods_without_their_component_are_looked_for_live() -> None:
    """Something between the two may be left, and go on making them."""
    bench = Gathering(
        appwrapper("Suspending", *DELETING), pods=RUNNING_PODS, get=[NOT_FOUND, NOT_FOUND],
        lists=[[listed(9, raw_pod("a", "Running"))]],
    )  # fmt: skip
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.stray_pods, snapshot.labelled_pods) == (False, True, 1)


async def test_the_proof_asks_for_components_first_then_for_pods() -> None:
    bench = Gathering(
        appwrapper("Suspending", *DELETING, created=False), get=[NOT_FOUND], lists=[[listed(9)]]
    )
    assert (await bench.observe()).snapshot.gone
    assert bench.methods() == ["get", "pages"]


async def test_an_object_without_watch_entry_is_read_once_for_the_proof() -> None:
    item = appwrapper("Suspending", *DELETING)
    bench = Gathering(item, get=[NOT_FOUND], lists=[[listed(9)]])
    assert (await bench.observe()).snapshot.gone
    assert bench.methods() == ["get", "pages"]


async def test_only_a_live_read_shows_an_unwatched_object() -> None:
    bench = Gathering(appwrapper("Suspending", *DELETING), get=[job()])
    bench.watches.watched = False
    assert (await bench.observe()).deployed == (
        DeployedObject(JOBS, "train", "j1", False, attempt="1"),
    )
    assert bench.methods() == ["get"]


@pytest.mark.parametrize("attempt", ["1", "7"])
async def test_a_component_that_only_a_live_read_finds_is_deployed(attempt: str) -> None:
    bench = Gathering(
        appwrapper("Suspending", *DELETING, created=False),
        get=[job(attempt=attempt)],
        lists=[[listed(9)]],
    )
    observation = await bench.observe()
    assert not observation.snapshot.gone
    assert observation.deployed == (DeployedObject(JOBS, "train", "j1", False, attempt=attempt),)


async def test_a_pod_of_any_attempt_that_only_a_live_list_finds() -> None:
    bench = Gathering(
        appwrapper("Suspending", *DELETING, created=False),
        get=[NOT_FOUND],
        lists=[[listed(9, raw_pod("a", "Running", attempt="7"))]],
    )
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.labelled_pods, snapshot.stray_pods) == (False, 1, True)
    assert snapshot.pods == PodCounts()


@pytest.mark.parametrize("failing", ["get", "pages"])
async def test_an_error_is_no_proof(failing: str) -> None:
    lost = Unreachable("timed out")
    bench = Gathering(
        appwrapper("Suspending", *DELETING, created=False),
        get=[lost if failing == "get" else NOT_FOUND],
        lists=[lost],
    )
    with pytest.raises(Unreachable):
        await bench.observe()


async def test_a_name_that_no_pod_can_carry_as_a_label_has_no_pods() -> None:
    name = "a" * 64
    item = appwrapper("Suspending", *DELETING, created=False, metadata={"name": name})
    bench = Gathering(item, get=[NOT_FOUND])
    assert (await bench.observe()).snapshot.gone
    assert bench.methods() == ["get"]


@pytest.mark.parametrize(("attempt", "gone"), [(1, True), (0, False)])
async def test_pods_with_the_name_label_alone(attempt: int, gone: bool) -> None:
    """Only what the Go operator began has such pods; what it made them of may be gone."""
    item = raw_pod("a", "Running")
    item["metadata"]["labels"] = {"workload.codeflare.dev/appwrapper": "train"}
    bench = Gathering(
        appwrapper("Suspending", *DELETING, created=False, attempt=attempt),
        get=[NOT_FOUND],
        lists=[[listed(9, item)]],
    )
    observation = await bench.observe()
    assert observation.snapshot.gone is gone
    assert [pod.name for pod in observation.pods] == ([] if gone else ["a"])


REFUSED = {"type": "ResourcesDeployed", "status": "False", "reason": "CreateFailed"}
NOT_SERVED = NotFound(404, "Unknown", "the answer is not a Status")


def recorded(item: dict[str, Any], **changes: Any) -> dict[str, Any]:
    item["status"]["componentStatus"][0].update(changes)
    return item


async def test_a_refused_object_that_may_not_be_read_does_not_exist() -> None:
    item = recorded(appwrapper("Terminating", *DELETING, created=False), conditions=[REFUSED])
    bench = Gathering(item, get=[Forbidden(403, "Forbidden", "no")], lists=[[listed(9)]])
    assert (await bench.observe()).snapshot.gone


@pytest.mark.parametrize(("refused", "gone"), [(0, True), (1, False), (None, False)])
async def test_a_refusal_that_is_not_recorded_yet_counts_as_well(
    refused: int | None, gone: bool
) -> None:
    condition = {"type": "ResourcesDeployed", "status": "Unknown"}
    item = recorded(appwrapper("Terminating", *DELETING, created=False), conditions=[condition])
    problem = CreateProblem(fatal=False, message="403", refused=refused)
    no = Forbidden(403, "Forbidden", "no")
    bench = Gathering(item, problem=problem, get=[no], lists=[[listed(9)]])
    snapshot = (await bench.observe()).snapshot
    assert snapshot.gone is gone
    assert snapshot.components[0].announced  # so that it is recorded now


async def test_a_refused_object_is_read_if_that_is_allowed() -> None:
    """An earlier create may have succeeded, its answer lost."""
    item = recorded(appwrapper("Terminating", *DELETING, created=False), conditions=[REFUSED])
    bench = Gathering(item, get=[job()], lists=[[listed(9)]])
    observation = await bench.observe()
    assert not observation.snapshot.gone
    assert observation.deployed == (DeployedObject(JOBS, "train", "j1", False, attempt="1"),)


@pytest.mark.parametrize("status", ["Unknown", "True"])
async def test_a_denial_is_no_proof(status: str) -> None:
    condition = {"type": "ResourcesDeployed", "status": status}
    item = recorded(appwrapper("Terminating", *DELETING, created=False), conditions=[condition])
    no = Forbidden(403, "Forbidden", "no")
    bench = Gathering(item, get=[no], lists=[[listed(9)]])
    snapshot = (await bench.observe()).snapshot
    assert not snapshot.gone
    assert snapshot.blockers == ("Job train cannot be read: 403 Forbidden: no",)


@pytest.mark.parametrize("created", [True, False])
async def test_a_kind_that_is_not_served_is_no_proof_once_it_was_made(created: bool) -> None:
    item = appwrapper("Terminating", *DELETING, created=created)
    bench = Gathering(item, unserved=("batch/Job",), lists=[[listed(9)]])
    snapshot = (await bench.observe()).snapshot
    assert snapshot.gone is not created
    assert bench.methods() == ([] if created else ["pages"])


async def test_a_kind_that_is_served_no_more_is_no_proof() -> None:
    bench = Gathering(appwrapper("Terminating", *DELETING), get=[NOT_SERVED], lists=[[listed(9)]])
    assert not (await bench.observe()).snapshot.gone
    assert bench.served.forgotten == [JOBS.gvk]


@pytest.mark.parametrize("name", ["x" * 254, "a/b"])
async def test_a_name_that_no_object_can_have(name: str) -> None:
    item = appwrapper("Terminating", *DELETING, created=False)
    answers = [Invalid(422, "Invalid", "no")] if "/" in name else []
    item["spec"]["components"] = [{"template": {**TEMPLATE, "metadata": {"name": name}}}]
    bench = Gathering(recorded(item, name=name), get=answers, lists=[[listed(9)]])
    assert (await bench.observe()).snapshot.gone
