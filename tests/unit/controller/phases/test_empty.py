"""The first decision: nothing for a moment, then Suspended; or the start at once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.phases import decide
from controller.phases.actions import WakeAfter
from controller.phases.empty import MOMENT
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, PodSetInfos, Snapshot
from controller.reports.reason import Reason
from tests.support.decisions import Situation, decisions, deploys
from tests.support.moments import NOW, ago

NEW = Situation(Snapshot(phase=Phase.EMPTY, waits_since=NOW))
QUEUED = NEW.but(queued=True, suspend=True)
ADMITTED = NEW.but(queued=True, pod_set_infos=PodSetInfos.COMPLETE)
WAITS = """
    -> Suspended (Suspended)
    record pod sets
    QuotaReserved=False (Suspended)
    ResourcesDeployed=False (Suspended)
"""
STARTS = f"add finalizer\n{deploys(Reason.RESUMING)}"


@decisions(
    {
        "Kueue may admit it within a moment": (QUEUED, "wake after 0.1s"),
        "the moment is over": (QUEUED.but(waits_since=ago(0.1)), WAITS),
        "nobody knows since when it waits": (QUEUED.but(waits_since=None), WAITS),
        "Kueue admitted it within that moment": (ADMITTED, STARTS),
        "and later, while no controller was there": (ADMITTED.but(waits_since=ago(60)), STARTS),
        "it names no queue": (NEW, STARTS),
        "its user suspended it, and no queue will admit it": (NEW.but(suspend=True), WAITS),
        "queued and not suspended, but without podSetInfos": (NEW.but(queued=True), WAITS),
        "an object of an earlier attempt may use quota": (
            ADMITTED.but(unexpected_alive=True),
            WAITS,
        ),
        "podSetInfos mean nothing while it is suspended": (
            QUEUED.but(pod_set_infos=PodSetInfos.COMPLETE, waits_since=ago(1)),
            WAITS,
        ),
    }
)
def test_a_new_appwrapper_waits_or_starts(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


@pytest.mark.parametrize("milliseconds", [1, 60, 99])
def test_it_waits_for_the_rest_of_the_moment_only(milliseconds: int) -> None:
    began = NOW - timedelta(milliseconds=milliseconds)
    snapshot = replace(QUEUED.snapshot, waits_since=began)
    rest = MOMENT - timedelta(milliseconds=milliseconds)
    assert decide(snapshot, NOW, FaultTolerance()) == (WakeAfter(rest),)
