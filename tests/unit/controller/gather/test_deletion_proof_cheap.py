"""Which requests a deletion saves, and what it still reads before it concludes that all is gone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.components import ComponentFacts
from controller.gather.deletion_proof import SETTLING
from shared.kinds.table import record_of
from tests.support.builders.gathering import (
    COMPLETE,
    NOT_FOUND,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    of_kind,
)
from tests.support.fakes.fake_kube import listed

HELD = ("QuotaReserved", "ResourcesDeployed", "DeletingResources")
PYTORCH_JOB = "kubeflow.org/PyTorchJob"


def terminating(*ready: str) -> dict[str, Any]:
    return appwrapper(
        "Terminating", *HELD, *ready, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
    )


def gone_job(item: dict[str, Any], last: ComponentFacts, **known: Any) -> Gathering:
    bench = Gathering(item, last=last, get=[NOT_FOUND], lists=[[listed(9)]], **known)
    bench.memory.of("u1").deleted[last.group_kind, "train"] = last
    return bench


@pytest.mark.parametrize(
    ("deleted", "reads"),
    [("j1", ["pages"]), ("j0", ["get", "pages"]), ("", ["get", "pages"])],
    ids=["of the deleted object", "of another object", "of an object that nobody deleted"],
)
async def test_a_deleted_event_replaces_the_read_of_the_component(
    deleted: str, reads: list[str]
) -> None:
    """An object that only lost its label gets the same event."""
    bench = gone_job(terminating("PodsReady"), facts())
    if deleted:
        bench.deletions.accept("u1", deleted)
    assert (await bench.observe()).snapshot.gone
    assert bench.methods() == reads


async def test_the_pods_of_a_component_deleted_in_the_background_are_awaited() -> None:
    bench = gone_job(terminating("PodsReady"), facts(**COMPLETE), pods=RUNNING_PODS)
    bench.deletions.accept("u1", "j1")
    bench.deletions.of("u1").collected.add("j1")
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.stray_pods, bench.methods()) == (False, False, [])
    bench.cached_pods.value = ()
    assert (await bench.observe()).snapshot.gone
    assert bench.methods() == ["pages"]


@pytest.mark.parametrize(
    ("last", "waited"),
    [
        (facts(**COMPLETE), None),
        (replace(facts(**COMPLETE), group_kind=PYTORCH_JOB), None),
        (replace(facts(**COMPLETE), group_kind="jobset.x-k8s.io/JobSet"), SETTLING),
        (replace(facts(**COMPLETE), group_kind=PYTORCH_JOB, attempt="7"), SETTLING),
        (replace(facts(), group_kind=PYTORCH_JOB), SETTLING),
    ],
    ids=["Job", "PyTorchJob", "JobSet", "of another attempt", "not ended"],
)
async def test_a_component_that_had_ended_needs_no_settling(
    last: ComponentFacts, waited: timedelta | None
) -> None:
    """PodsReady was never True: not all pods existed."""
    served = record_of(last.group_kind).resource
    item = of_kind(terminating(), apiVersion=served.gvk.api_version, kind=served.kind)
    bench = Gathering(item, last=last, get=[NOT_FOUND], lists=[[listed(9)]] * 2)
    bench.served.more = bench.watches.more = (served,)
    bench.memory.of("u1").deleted[last.group_kind, "train"] = last
    assert (await bench.observe()).look_again == waited


@pytest.mark.parametrize(
    ("phase", "conditions"),
    [("Succeeded", ["ResourcesDeployed"]), ("Succeeded", []), ("Failed", [])],
    ids=["Succeeded", "after the TTL", "Failed"],
)
async def test_an_ended_appwrapper_costs_nothing(phase: str, conditions: list[str]) -> None:
    """No watch shows its component: a Job that its TTL deleted, or a Secret."""
    bench = Gathering(appwrapper(phase, *conditions), created=True)
    assert (await bench.observe()).snapshot.components == ()
    assert bench.methods() == []
