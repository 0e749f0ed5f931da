"""Whose a pod is that carries an AppWrapper's labels: what is proved, and what only seems so."""

from typing import Any

import pytest

from controller.apply.deleter import Deleter
from controller.facts.pods import Pod, project_pod
from controller.phases.actions import DeletionMode
from controller.phases.ask import Need
from shared.api.objects import PODS, Resource
from shared.kube.client import ApiError, Forbidden, TooManyRequests, Unreachable
from tests.support.builders.gathering import (
    NOT_FOUND,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    of_kind,
    raw_pod,
)
from tests.support.cluster.resources import JOBS, PYTORCH_JOBS
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube, listed

JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")


def reference(resource: Resource, name: str, uid: str) -> dict[str, Any]:
    gvk = resource.gvk
    return {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        "name": name,
        "uid": uid,
        "controller": True,
    }


def copied(name: str, owner: dict[str, Any] | None, phase: str = "Failed") -> dict[str, Any]:
    """A pod with all our labels, and that owner."""
    item = raw_pod(name, phase)
    item["metadata"]["ownerReferences"] = [owner] if owner else []
    return item


def owner_of(uid: str, *above: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"namespace": "team1", "uid": uid, "ownerReferences": list(above)}}


THEIRS = reference(PYTORCH_JOBS, "theirs", "p9")


def bench(
    *pods: dict[str, Any], phase: str = "Running", kind: str = "", **scripted: Any
) -> Gathering:
    item = appwrapper(phase, "QuotaReserved", "ResourcesDeployed")
    if kind:
        item = of_kind(item, kind=kind, apiVersion="jobset.x-k8s.io/v1alpha2")
    extra: tuple[Pod, ...] = tuple(map(project_pod, pods))
    found = Gathering(item, known=facts(), pods=(*RUNNING_PODS, *extra), **scripted)
    found.served.more = found.watches.more = (PYTORCH_JOBS, JOB_SETS)
    return found


async def test_a_pod_of_another_owners_job_is_not_counted() -> None:
    one = bench(copied("theirs-0", THEIRS), copied("theirs-1", THEIRS, "Running"),
                get=[owner_of("p9")])  # fmt: skip
    for _ in range(2):  # the second time from memory
        observation = await one.observe()
        counts = observation.snapshot.pods
        assert (counts.failed, counts.running, observation.snapshot.labelled_pods) == (0, 2, 2)
    assert [(call.method, call.args, call.kwargs) for call in one.kube.calls] == [
        ("get", (PYTORCH_JOBS, "team1", "theirs"), {"metadata_only": True})
    ]
    assert {pod.name: pod.made_by for pod in observation.pods} == {
        "a": "",
        "b": "",
        "theirs-0": "PyTorchJob theirs",
        "theirs-1": "PyTorchJob theirs",
    }


async def test_an_owner_of_a_version_that_is_not_served_is_read_in_another() -> None:
    older = THEIRS | {"apiVersion": "kubeflow.org/v1beta1"}
    one = bench(copied("theirs-0", older), get=[owner_of("p9")])
    assert (await one.observe()).snapshot.pods.failed == 0
    (call,) = one.kube.called("get")
    assert call.args == (PYTORCH_JOBS, "team1", "theirs")


async def test_a_succeeded_pod_of_another_owners_job_is_not_counted_after_its_deletion() -> None:
    """The job it had is read all the same, though none of its pods is there."""
    page = listed(9, raw_pod("a", "Running"))
    scripted: dict[str, Any] = {"get": [owner_of("p9")], "lists": [[page]]}
    item = appwrapper("Running", "QuotaReserved", "ResourcesDeployed")
    one = Gathering(item, known=facts(), pods=RUNNING_PODS[:1], **scripted)
    one.served.more = (PYTORCH_JOBS,)
    one.memory.sightings.see_success(project_pod(copied("theirs-0", THEIRS, "Succeeded")))
    for asked in ((), (Need.LIVE_PODS,)):
        observation = await one.gather(("team1", "train"), NOW, asked)
        assert observation is not None
        counts = observation.snapshot.pods
        assert (counts.succeeded, counts.running) == (0, 1)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(NOT_FOUND, id="it is gone"),
        pytest.param(Forbidden(403, "Forbidden", "no"), id="it may not be read"),
        pytest.param(ApiError(400, "BadRequest", "no"), id="the API server rejects the read"),
        pytest.param(owner_of("another"), id="another has its name"),
        pytest.param(owner_of("p9", reference(JOBS, "train", "j1")), id="a component made it"),
        pytest.param(
            owner_of("p9", {**reference(JOBS, "train", "u1")}), id="the AppWrapper made it"
        ),
        pytest.param(
            owner_of("p9", {**reference(JOBS, "x", "x"), "kind": "Unheard", "apiVersion": "x/v1"}),
            id="what made it is of a Kind that nobody serves",
        ),
    ],
)
async def test_an_owned_or_unknown_pod_counts_and_its_owner_is_read_once(answer: Any) -> None:
    one = bench(copied("odd", THEIRS), get=[answer])
    for _ in range(2):
        assert (await one.observe()).snapshot.pods.failed == 1
    assert one.methods() == ["get"]


@pytest.mark.parametrize(
    "answer",
    [
        ApiError(500, "InternalError", "a webhook"),
        TooManyRequests(429, "TooManyRequests", "later"),
        Unreachable("timed out"),
    ],
)
async def test_a_pod_with_an_unreadable_owner_counts_and_the_owner_is_read_again(
    answer: Any,
) -> None:
    one = bench(copied("odd", THEIRS), get=[answer, owner_of("p9")])
    assert (await one.observe()).snapshot.pods.failed == 1
    assert (await one.observe()).snapshot.pods.failed == 0


async def test_after_a_restart_it_is_found_again() -> None:
    for _ in range(2):
        one = bench(copied("theirs-0", THEIRS), get=[owner_of("p9")])
        assert (await one.observe()).snapshot.pods.failed == 0


async def test_without_an_owner_nothing_is_proved() -> None:
    """Orphaning takes owners away, and so does whoever may patch pods."""
    one = bench(copied("bare", None))
    assert (await one.observe()).snapshot.pods.failed == 1
    assert one.methods() == []


async def test_a_chain_that_leads_to_another_appwrapper() -> None:
    jobs = reference(JOBS, "inner", "i9")
    one = bench(copied("far", jobs), get=[owner_of("i9", THEIRS), owner_of("p9")])
    observation = await one.observe()
    assert observation.snapshot.pods.failed == 0
    assert observation.pods[-1].made_by == "PyTorchJob theirs"


async def test_dependants_of_this_kind_may_be_orphaned() -> None:
    """A JobSet makes Jobs. One without an owner may be what is left of it."""
    orphan = copied("left", reference(JOBS, "orphan", "o9"))
    one = bench(orphan, kind="JobSet", get=[owner_of("o9")])
    assert (await one.observe()).snapshot.pods.failed == 1
    job = bench(orphan, get=[owner_of("o9")])
    assert (await job.observe()).snapshot.pods.failed == 0


async def test_chains_that_go_round_prove_nothing() -> None:
    one = bench(copied("round", THEIRS), get=[owner_of("p9", THEIRS)] * 8)
    assert (await one.observe()).snapshot.pods.failed == 1


async def test_the_proof_takes_every_labelled_pod_and_deletes_only_its_own() -> None:
    theirs = copied("theirs-0", THEIRS, "Running")
    item = appwrapper("Suspending", "QuotaReserved", "ResourcesDeployed", "DeletingResources")
    one = Gathering(
        item,
        get=[NOT_FOUND, owner_of("p9")],
        lists=[[listed(9, theirs, raw_pod("a", "Running"))]],
    )
    one.served.more = (PYTORCH_JOBS,)
    observation = await one.gather(("team1", "train"), NOW)
    assert observation is not None
    assert not observation.snapshot.gone
    assert observation.snapshot.stray_pods
    assert [pod.name for pod in observation.pods] == ["theirs-0", "a"]
    kube: Any = FakeKube(answers={"delete": [None] * 2})
    delete = Deleter(kube, one.deletions, FakeClock(), lambda *_: None).delete
    for mode in (DeletionMode.GRACEFUL, DeletionMode.FORCE_PODS):
        await delete(observation, mode)
    assert [call.args for call in kube.called("delete")] == [(PODS, "team1", "a")] * 2
