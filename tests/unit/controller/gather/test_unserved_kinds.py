"""Components of Kinds that the API server does not serve, or not in namespaces."""

from datetime import timedelta
from typing import Any

import pytest

from controller.facts.deployed import DeployedObject
from controller.phases.snapshot import Presence
from shared.api.conditions import Terminal
from shared.kube.client import NotFound
from tests.support.builders.gathering import (
    COMPLETE,
    NOT_FOUND,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    job,
    of_kind,
)
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_kube import listed


@pytest.mark.parametrize(
    ("created", "expected"),
    [(True, Presence.UNKNOWN), (False, Presence.PLANNED)],
    ids=["made before", "never made"],
)
async def test_a_kind_that_is_not_served_proves_nothing_about_its_objects(
    created: bool, expected: Presence
) -> None:
    """Its CRD may be changing; only what was never made is certainly not there."""
    item = appwrapper("Running", created=created)
    bench = Gathering(item, unserved=("batch/Job",), pods=RUNNING_PODS)
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
    ending: list[Any] = [] if obstacle else [{"metadata": {}}]
    bench = Gathering(
        appwrapper("Running"), unserved=("batch/Job",), obstacle=obstacle, get=ending,
        last=facts(**COMPLETE), pods=RUNNING_PODS, lists=[[listed(9)]],
    )  # fmt: skip
    component = (await bench.observe()).snapshot.components[0]
    assert (component.presence, component.terminal) == (presence, Terminal.SUCCEEDED)


@pytest.mark.parametrize(
    ("kind", "has_surviving_children"),
    [(("ray.io/v1", "RayJob"), True), (("batch/v1", "Job"), False)],
)
async def test_the_record_of_the_kind_shows_whether_dependants_outlive_it(
    kind: tuple[str, str], has_surviving_children: bool
) -> None:
    version, name = kind
    item = of_kind(appwrapper("Running"), apiVersion=version, kind=name)
    bench = Gathering(item, unserved=("batch/Job",), pods=RUNNING_PODS)
    (component,) = (await bench.observe()).snapshot.components
    assert (component.kind, component.has_surviving_children) == (name, has_surviving_children)


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
    bench = Gathering(appwrapper("Running"), pods=RUNNING_PODS, get=[not_served])
    assert await bench.presence() is Presence.UNKNOWN
    assert bench.served.forgotten == [JOBS.gvk]


async def test_a_component_of_an_undefined_kind_was_deleted_by_another_client() -> None:
    bench = Gathering(
        appwrapper("Running"), unserved=("batch/Job",), obstacle="",
        pods=RUNNING_PODS, get=[{"metadata": {}}],
    )  # fmt: skip
    assert await bench.presence() is Presence.GONE
    assert bench.unserved.asked == [JOBS.gvk]


@pytest.mark.parametrize("phase", ["Running", "Terminating"])
async def test_a_component_of_a_version_that_is_not_served_is_read_in_another(phase: str) -> None:
    item = of_kind(appwrapper(phase), apiVersion="batch/v9")
    bench = Gathering(item, get=[job(), job()], lists=[[listed(9)]] * 2)
    bench.watches.watched = False
    observation = await bench.observe()
    assert observation.deployed == (DeployedObject(JOBS, "train", "j1", False, attempt="1"),)
    assert observation.snapshot.components[0].presence is Presence.PRESENT
    assert {call.args for call in bench.kube.called("get")} == {(JOBS, "team1", "train")}
    assert bench.unserved.asked == []


async def test_a_component_of_a_version_that_is_not_served_is_gone_once_another_shows_none() -> (
    None
):
    deleting = ("QuotaReserved", "ResourcesDeployed", "PodsReady", "DeletingResources")
    item = of_kind(appwrapper("Terminating", *deleting), apiVersion="batch/v9")
    bench = Gathering(item, get=[NOT_FOUND], lists=[[listed(9)]])
    assert (await bench.observe()).snapshot.gone
    assert bench.methods() == ["get", "pages"]
    assert bench.unserved.asked == []


async def test_a_kind_without_namespaces_has_no_component() -> None:
    """It is never created, and the object of that name is somebody else's."""
    item = of_kind(appwrapper("Resuming", created=False), apiVersion="v1", kind="Node")
    bench = Gathering(item)
    assert await bench.presence() is Presence.PLANNED
    assert bench.methods() == []


async def test_served_kinds_are_read_again_before_an_attempt_is_recorded() -> None:
    """What it deployed carries the number. Elsewhere nothing ends by a remembered "no"."""
    item = appwrapper("Running")
    bench = Gathering(item, unserved=("batch/Job",), pods=RUNNING_PODS)
    await bench.observe()
    assert bench.served.asked_anew == []
    del item["status"]["attempt"]
    lost = Gathering(item, unserved=("batch/Job",), pods=RUNNING_PODS)
    await lost.observe()
    assert lost.served.asked_anew == [JOBS.gvk]
