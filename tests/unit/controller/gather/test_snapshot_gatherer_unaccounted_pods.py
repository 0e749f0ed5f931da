"""Which pods are listed live once a component says that it ended, and which are waited for."""

from datetime import timedelta

import pytest

from controller.facts.pods import project_pod
from controller.phases.snapshot import PodCounts
from shared.api.times import format_time
from tests.support.builders.gathering import (
    COMPLETE,
    NOW,
    Gathering,
    appwrapper,
    facts,
    raw_pod,
)
from tests.support.fakes.fake_kube import listed

ONE_RUNS = tuple(
    project_pod(raw_pod(name, phase)) for name, phase in (("a", "Succeeded"), ("b", "Running"))
)


@pytest.mark.parametrize(
    ("seconds", "lists"),
    [
        pytest.param(None, 1, id="at first: it may have ended just now"),
        pytest.param(59, 0, id="it has its time"),
        pytest.param(60, 1, id="it is about to be removed"),
    ],
)
async def test_who_waits_for_stragglers_lists_nothing(seconds: int | None, lists: int) -> None:
    """Each of hundreds that end wakes it, and a list is of all of them."""
    timers = {}
    if seconds is not None:
        timers["stragglers"] = {
            "began": format_time(NOW - timedelta(seconds=seconds)),
            "phase": "Running",
            "attempt": 1,
            "resettingCount": 0,
        }
    bench = Gathering(
        appwrapper("Running", timers=timers),
        known=facts(**COMPLETE),
        pods=ONE_RUNS,
        lists=[[listed(9, raw_pod("a", "Succeeded"), raw_pod("b", "Running"))]],
    )
    assert (await bench.observe()).snapshot.pods == PodCounts(unawaited=1, stragglers=1)
    assert len(bench.kube.called("pages")) == lists


async def test_an_ended_pod_is_accounted_for_by_the_watch() -> None:
    """Fewer pods than expected are known, and none is under way: the quota is about to go back."""
    began = {
        "began": format_time(NOW - timedelta(seconds=1)),
        "phase": "Running",
        "attempt": 1,
        "resettingCount": 0,
    }
    bench = Gathering(
        appwrapper("Running", timers={"stragglers": began}),
        known=facts(**COMPLETE),
        pods=ONE_RUNS[:1],
        lists=[[listed(9, raw_pod("a", "Succeeded"), raw_pod("b", "Running"))]],
    )
    assert (await bench.observe()).snapshot.pods == PodCounts(unawaited=1, stragglers=1)
