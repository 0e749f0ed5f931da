"""What an operator reports only in Events is read while pods are missing."""

from typing import Any

import pytest

from controller.facts.components import project_component
from controller.phases.snapshot import Component
from shared.api.conditions import Terminal
from shared.api.objects import EVENTS
from shared.kinds.ray import RAY_CLUSTERS
from shared.kube.client import Forbidden
from tests.support.builders.gathering import Gathering, appwrapper, job, of_kind
from tests.support.fakes.fake_kube import listed

INVALID = "The RayCluster spec is invalid team1/train: headGroupSpec should have a container"


def event(
    reason: str = "InvalidRayClusterSpec", message: str = INVALID, kind: str = "Warning"
) -> dict[str, Any]:
    return {"type": kind, "reason": reason, "message": message}


def running(*lists: Any, began: str = "2025-12-31T23:59:55Z", **status: Any) -> Gathering:
    admission = {"began": began, "phase": "Running", "attempt": 1, "resettingCount": 0}
    timers = {"admission": admission, "warmup": admission}
    item = of_kind(appwrapper("Running", timers=timers), kind="RayCluster", apiVersion="ray.io/v1")
    known = project_component("ray.io/RayCluster", job(**status))
    bench = Gathering(item, known=known, lists=list(lists))
    bench.served.more = bench.watches.more = (RAY_CLUSTERS,)
    return bench


async def seen(bench: Gathering) -> Component:
    return (await bench.observe()).snapshot.components[0]


async def test_a_rejected_component_has_failed_with_its_operators_words() -> None:
    # The second list is that of the live pods, as for every failed component.
    bench = running([listed(9, event("Created", "a"), event())], [listed(9)])
    bench.kube.answers["get"] = [{"metadata": {}}]  # its namespace
    found = await seen(bench)
    assert (found.terminal, found.invalid) == (Terminal.FAILED, True)
    assert found.message == f"InvalidRayClusterSpec: {INVALID}"
    asked = bench.kube.called("pages")[0]
    assert asked.args == (EVENTS, "team1")
    assert asked.kwargs == {"field_selector": "involvedObject.uid=j1"}


@pytest.mark.parametrize("events", [[], [event("FailedToCreateHeadPod")], [event(kind="Normal")]])
async def test_other_events_reject_nothing(events: list[dict[str, Any]]) -> None:
    found = await seen(running([listed(9, *events)]))
    assert (found.terminal, found.invalid, found.message) == (None, False, "")


async def test_no_event_is_read_within_the_first_seconds() -> None:
    bench = running(began="2025-12-31T23:59:56Z")
    assert (await seen(bench)).terminal is None
    assert bench.kube.called("pages") == []


async def test_events_that_cannot_be_read_hold_up_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    found = await seen(running(Forbidden(403, "Forbidden", "no list")))
    assert (found.terminal, found.invalid) == (None, False)
    assert caplog.messages == [
        "whether an operator rejects a component is unknown: its Events cannot be read: "
        "403 Forbidden: no list"
    ]
