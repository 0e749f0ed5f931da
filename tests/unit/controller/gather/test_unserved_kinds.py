"""Components of Kinds that the API server does not serve, or not in namespaces."""

from datetime import timedelta
from typing import Any

import pytest

from controller.phases.snapshot import Presence
from shared.api.conditions import Terminal
from shared.kube.client import NotFound
from tests.support.builders.gathering import (
    COMPLETE,
    RUNNING_PODS,
    Bench,
    appwrapper,
    facts,
    of_kind,
)
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_kube import listed


@pytest.mark.parametrize(
    ("created", "expected"),
    [(True, Presence.UNKNOWN), (False, Presence.PLANNED)],
    ids=["made before", "never made"],
)
async def test_a_kind_that_is_not_served_says_nothing_of_its_objects(
    created: bool, expected: Presence
) -> None:
    """Its CRD may be changing; only what was never made is certainly not there."""
    item = of_kind(appwrapper("Running", created=created), apiVersion="batch/v9")
    bench = Bench(item, pods=RUNNING_PODS)
    observation = await bench.observe()
    (component,) = observation.snapshot.components
    assert (component.presence, component.reports) == (expected, True)
    assert bench.methods() == []
    assert observation.look_again == (timedelta(seconds=30) if created else None)


@pytest.mark.parametrize(
    ("obstacle", "presence"), [("its CRD is changing", Presence.UNKNOWN), ("", Presence.GONE)]
)
async def test_a_deleted_event_alone_makes_no_component_of_an_unserved_kind_missing(
    obstacle: str, presence: Presence
) -> None:
    """The object may have lost its label. How it ended counts all the same."""
    item = of_kind(appwrapper("Running"), apiVersion="batch/v9")
    ending: list[Any] = [] if obstacle else [{"metadata": {}}]
    bench = Bench(
        item, last=facts(**COMPLETE), pods=RUNNING_PODS, obstacle=obstacle, get=ending,
        lists=[[listed(9)]],
    )  # fmt: skip
    component = (await bench.observe()).snapshot.components[0]
    assert (component.presence, component.terminal) == (presence, Terminal.SUCCEEDED)


@pytest.mark.parametrize(
    ("kind", "outlived"), [(("ray.io/v1", "RayJob"), True), (("batch/v9", "Job"), False)]
)
async def test_the_record_of_its_kind_says_whether_what_it_made_outlives_it(
    kind: tuple[str, str], outlived: bool
) -> None:
    version, name = kind
    bench = Bench(of_kind(appwrapper("Running"), apiVersion=version, kind=name), pods=RUNNING_PODS)
    (component,) = (await bench.observe()).snapshot.components
    assert (component.kind, component.outlived) == (name, outlived)


@pytest.mark.parametrize(
    "not_served",
    [
        NotFound(404, "Unknown", "the answer is not a Status"),
        NotFound(404, "NotFound", "the server could not find the requested resource"),
    ],
    ids=["of a CRD", "built in"],
)
async def test_a_resource_that_is_not_found_is_not_an_object_that_is_not_found(
    not_served: NotFound,
) -> None:
    bench = Bench(appwrapper("Running"), pods=RUNNING_PODS, get=[not_served])
    assert await bench.presence() is Presence.UNKNOWN
    assert bench.served.forgotten == [JOBS.gvk]


async def test_of_a_kind_that_nothing_defines_any_more_the_component_was_deleted_by_others() -> (
    None
):
    item = of_kind(appwrapper("Running"), apiVersion="batch/v9")
    bench = Bench(item, pods=RUNNING_PODS, get=[{"metadata": {}}], obstacle="")
    assert await bench.presence() is Presence.GONE
    assert [gvk.api_version for gvk in bench.unserved.asked] == ["batch/v9"]


async def test_a_kind_without_namespaces_has_no_component() -> None:
    """It is never created, and the object of that name is somebody else's."""
    item = of_kind(appwrapper("Resuming", created=False), apiVersion="v1", kind="Node")
    bench = Bench(item)
    assert await bench.presence() is Presence.PLANNED
    assert bench.methods() == []


async def test_whether_a_kind_is_served_is_asked_anew_before_an_attempts_number_is_recorded() -> (
    None
):
    """What it deployed carries the number. Elsewhere nothing ends by a remembered "no"."""
    item = of_kind(appwrapper("Running"), apiVersion="batch/v9")
    bench = Bench(item, pods=RUNNING_PODS)
    await bench.observe()
    assert bench.served.asked_anew == []
    del item["status"]["attempt"]
    lost = Bench(item, pods=RUNNING_PODS)
    await lost.observe()
    assert [gvk.api_version for gvk in lost.served.asked_anew] == ["batch/v9"]
