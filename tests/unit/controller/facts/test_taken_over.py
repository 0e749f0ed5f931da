"""Periods that another operator began: its conditions say since when."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.apply.status import status_after
from controller.facts.own_status import read_status
from controller.phases import decide
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, CreateProblem, FaultTolerance, Presence, Timers
from controller.phases.timers import CLOCK_SKEW, Stamp, encode_timers
from shared.api.appwrapper import AppWrapper
from shared.api.times import format_time

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLY, LATE = NOW - timedelta(hours=2), NOW - timedelta(minutes=3)

DEPLOYED, READY = "ResourcesDeployed", "PodsReady"
UNHEALTHY, DELETING = "Unhealthy", "DeletingResources"
QUOTA = "QuotaReserved"


def condition(kind: str, status: str, since: datetime, reason: str = "X") -> dict[str, Any]:
    time = format_time(since)
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": time}


def timers_of(phase: str, *conditions: dict[str, Any], **status: Any) -> Timers:
    stored = {"phase": phase, "conditions": list(conditions), **status}
    raw = {"metadata": {"namespace": "n", "name": "a", "uid": "u"}, "spec": {"components": []}}
    return read_status(AppWrapper({**raw, "status": stored}), NOW).timers


FAILED_PODS = condition(UNHEALTHY, "True", EARLY, "FoundFailedPods")


@pytest.mark.parametrize(
    ("phase", "conditions", "timers"),
    [
        ("Running", [FAILED_PODS], Timers(failure=EARLY)),
        ("Running", [condition(UNHEALTHY, "False", EARLY, "FoundNoFailedPods")], Timers()),
        # What waits for an admin or its turn has no failure grace period of its own.
        ("Running", [condition(UNHEALTHY, "True", EARLY, "EvacuationBreakerOpen")], Timers()),
        (
            "Running",
            [condition(DEPLOYED, "True", EARLY), condition(READY, "False", EARLY)],
            Timers(admission=EARLY, warmup=EARLY),
        ),
        # Pods were there, and were lost.
        (
            "Running",
            [condition(DEPLOYED, "True", EARLY), condition(READY, "False", LATE)],
            Timers(admission=LATE, warmup=LATE),
        ),
        # It is the second attempt, and none of its pods was ever ready.
        (
            "Running",
            [condition(DEPLOYED, "True", LATE), condition(READY, "False", EARLY)],
            Timers(admission=LATE, warmup=LATE),
        ),
        ("Running", [condition(DEPLOYED, "True", EARLY), condition(READY, "True", LATE)], Timers()),
        # The pause begins when all is gone.
        (
            "Resetting",
            [condition(UNHEALTHY, "True", EARLY), condition(DEPLOYED, "False", LATE)],
            Timers(retry_pause=LATE),
        ),
        (
            "Resetting",
            [condition(DEPLOYED, "True", EARLY), condition(DELETING, "True", LATE)],
            Timers(forceful_deletion=LATE),
        ),
        ("Suspending", [condition(DELETING, "True", EARLY)], Timers(forceful_deletion=EARLY)),
        ("Terminating", [condition(DELETING, "True", EARLY)], Timers(forceful_deletion=EARLY)),
        ("Terminating", [condition(DELETING, "False", EARLY)], Timers()),
        (
            "Failed",
            [
                condition(UNHEALTHY, "True", EARLY),
                condition(DELETING, "False", LATE, "DeletionPaused"),
            ],
            Timers(deletion_on_failure=LATE),
        ),
        # That was of a reset before: its operator does not write it anew.
        (
            "Failed",
            [
                condition(UNHEALTHY, "True", LATE),
                condition(DELETING, "False", EARLY, "DeletionPaused"),
            ],
            Timers(deletion_on_failure=LATE),
        ),
        ("Failed", [condition(DELETING, "False", EARLY, "DeletionComplete")], Timers()),
        ("Failed", [condition(DELETING, "True", EARLY)], Timers(forceful_deletion=EARLY)),
        (
            "Succeeded",
            [condition(DEPLOYED, "True", EARLY), condition(DELETING, "True", LATE)],
            Timers(success=EARLY, forceful_deletion=LATE),
        ),
        # It succeeded later than it was deployed.
        (
            "Succeeded",
            [condition(DEPLOYED, "True", EARLY), condition(QUOTA, "False", LATE, "Succeeded")],
            Timers(success=LATE),
        ),
        (
            "Succeeded",
            [condition(DEPLOYED, "True", EARLY), condition(QUOTA, "True", LATE, "Succeeded")],
            Timers(success=EARLY),
        ),
        (
            "Succeeded",
            [condition(DEPLOYED, "True", EARLY), condition(QUOTA, "False", LATE, "Suspended")],
            Timers(success=EARLY),
        ),
        ("Succeeded", [condition(QUOTA, "False", LATE, "Succeeded")], Timers(success=LATE)),
        # The other one writes PodsReady only once: it may be of an earlier start.
        (
            "Resuming",
            [condition(DEPLOYED, "True", LATE), condition(READY, "False", EARLY)],
            Timers(admission=LATE, warmup=LATE),
        ),
        ("Resuming", [condition(DEPLOYED, "False", EARLY)], Timers()),
        ("Suspended", [condition(DEPLOYED, "False", EARLY)], Timers()),
        ("Running", [{"type": UNHEALTHY, "status": "True", "reason": "FoundFailedPods"}], Timers()),
    ],
)
def test_it_goes_on_from_there(phase: str, conditions: list[Any], timers: Timers) -> None:
    assert timers_of(phase, *conditions) == timers


def test_a_stored_timer_of_this_operator_counts() -> None:
    ours = Timers(failure=LATE)
    stamp = Stamp(Phase.RUNNING.value, attempt=1, retries=0)
    stored = encode_timers(ours, stamp)
    assert timers_of("Running", FAILED_PODS, attempt=1, timers=stored) == ours
    # What another operator did in between makes it missing.
    other = timers_of("Running", FAILED_PODS, attempt=1, resettingCount=1, timers=stored)
    assert other == Timers(failure=EARLY)


def test_a_period_that_ended_does_not_begin_again_from_a_condition() -> None:
    """All pods run that a JobSet wants so far: PodsReady stays False, and no period runs."""
    ours = Timers(unready=LATE)
    stored = encode_timers(ours, Stamp(Phase.RUNNING.value, attempt=1, retries=0))
    conditions = [condition(DEPLOYED, "True", EARLY), condition(READY, "False", EARLY)]
    assert timers_of("Running", *conditions, attempt=1, timers=stored) == ours


def test_a_start_in_the_future_is_none() -> None:
    ahead = NOW + CLOCK_SKEW + timedelta(seconds=1)
    assert timers_of("Suspending", condition(DELETING, "True", ahead)) == Timers()
    nearly = NOW + CLOCK_SKEW
    expected = Timers(forceful_deletion=nearly)
    assert timers_of("Suspending", condition(DELETING, "True", nearly)) == expected


def test_the_admission_period_of_one_taken_over_in_resuming_ends_when_its_own_would() -> None:
    """The Go operator began it at 0 s; this one sees it at 21 s, and no create succeeds."""
    start = NOW
    config = FaultTolerance(admission_grace=timedelta(seconds=120))
    component = {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}}
    conditions = [condition(DEPLOYED, "True", start), condition(READY, "False", start)]
    raw = {
        "metadata": {"namespace": "n", "name": "a", "uid": "u"},
        "spec": {"components": [component]},
        "status": {"phase": "Resuming", "conditions": conditions},
    }
    planned = Component(name="p", kind="Pod", presence=Presence.PLANNED, expected_pods=1)
    phases: dict[int, str] = {}
    for second in (21, 22, 119, 120):
        now = start + timedelta(seconds=second)
        appwrapper = AppWrapper(raw)
        seen = read_status(appwrapper, now)
        again = now + timedelta(seconds=1)
        problem = CreateProblem(fatal=False, message="403 Forbidden: no quota", retry_at=again)
        seen = replace(
            seen, components=(planned,), create_problem=problem if seen.planned else None
        )
        status = status_after(appwrapper, seen.timers, decide(seen, now, config), now)
        raw = {**raw, "status": status}
        phases[second] = status["phase"]
    assert phases == {21: "Resuming", 22: "Resuming", 119: "Resuming", 120: "Resetting"}


def test_a_stored_period_takes_precedence_over_a_condition() -> None:
    """A stored timer outlives a crash, and the condition is older."""
    ours = Timers(admission=LATE, warmup=LATE)
    stored = encode_timers(ours, Stamp(Phase.RESUMING.value, attempt=1, retries=0))
    deployed = condition(DEPLOYED, "True", EARLY)
    assert timers_of("Resuming", deployed, attempt=1, timers=stored) == ours
