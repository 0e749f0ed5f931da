"""A reset that must wait: what is reported, what continues, and what never waits."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    CreateProblem,
    Evacuation,
    HoldReason,
    Presence,
    ResetHold,
)
from controller.reports.reason import Reason
from shared.api.conditions import Terminal
from tests.support.decisions import EXIT_42, HOLDING, JOB, RUNNING, Situation, decisions
from tests.support.moments import ago

RATE = ResetHold(HoldReason.RATE, "too many resets", timedelta(seconds=3))
PAUSED = ResetHold(HoldReason.PAUSED, "an admin set pauseResets")
BREAKER = ResetHold(HoldReason.BREAKER, "12 of 40 nodes turned bad", timedelta(seconds=30))
GAVE_UP = replace(JOB, terminal=Terminal.FAILED, message="BackoffLimitExceeded")

# One of four pods failed, and the grace period is over.
DUE = (
    RUNNING.pods(running=3, failed=1)
    .but(conditions=HOLDING | {"Unhealthy"})
    .reported("Unhealthy", Reason.FAILED_PODS, "1 failed pod")
    .since(failure=60, admission=0, warmup=0)
)
HELD = DUE.but(reset_hold=RATE)
REPORTED = HELD.reported("Unhealthy", Reason.RESET_THROTTLED, "1 failed pod; too many resets")


def reports(reason: Reason, message: str, logged: str = "") -> str:
    text = f"{message} [logged: {logged}]" if logged else message
    return f"Unhealthy=True ({reason.value}): {text}\nwarn ({reason.value}): {text}"


@decisions(
    {
        "it reports the failure and the reason to wait": (
            HELD,
            f"{reports(Reason.RESET_THROTTLED, '1 failed pod; too many resets')}\nwake after 3s",
        ),
        "without a time a change ends the wait": (
            HELD.but(reset_hold=PAUSED),
            reports(Reason.RESETS_PAUSED, "1 failed pod; an admin set pauseResets"),
        ),
        "it reports once": (REPORTED, "wake after 3s"),
        "another text of the same reason is not reported": (
            REPORTED.but(reset_hold=replace(RATE, message="another text")),
            "wake after 3s",
        ),
        "another reason is reported": (
            REPORTED.but(reset_hold=PAUSED),
            reports(Reason.RESETS_PAUSED, "1 failed pod; an admin set pauseResets"),
        ),
        "readiness is still reported": (
            HELD.but(
                conditions=HOLDING | {"Unhealthy", "PodsReady"}, components=(GAVE_UP,)
            ).since(),
            f"""
            record as failed: 0: BackoffLimitExceeded
            PodsReady=False (InsufficientPodsReady): 3 of 4 pods run
            start admission
            start warmup
            start unready
            {
                reports(
                    Reason.RESET_THROTTLED,
                    "Job train: BackoffLimitExceeded; too many resets",
                    "Job train; too many resets",
                )
            }
            start failure
            wake after 3s
            """,
        ),
        "a failure that heals meanwhile is not reset": (
            DUE.reported("Unhealthy", Reason.RESETS_PAUSED, "1 failed pod").pods(running=4),
            """
            PodsReady=True (SufficientPodsReady)
            clear admission
            clear warmup
            Unhealthy=False (FoundNoFailedPods)
            clear failure
            """,
        ),
    }
)
def test_a_held_reset_is_reported(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


@pytest.mark.parametrize("seconds", [61, 86400])
def test_a_permitted_reset_has_no_second_grace_period(seconds: int) -> None:
    permitted = REPORTED.but(reset_hold=None).since(failure=seconds, admission=0, warmup=0)
    assert permitted.moves == ["-> Resetting (FoundFailedPods, spending a retry): 1 failed pod"]


@pytest.mark.parametrize(
    ("component", "recorded"),
    [
        pytest.param(GAVE_UP, ["record as failed: 0: BackoffLimitExceeded"], id="it failed"),
        pytest.param(replace(GAVE_UP, failure_recorded=True), [], id="recorded already"),
        pytest.param(
            replace(GAVE_UP, failure_recorded=True, presence=Presence.GONE),
            [],
            id="its TTL deleted it",
        ),
    ],
)
def test_a_held_reset_records_the_failed_component(
    component: Component, recorded: list[str]
) -> None:
    """A TTL may delete the Job, and this process may end, before the reset is permitted."""
    helper = replace(GAVE_UP, name="board", helper=True)
    held = DUE.but(reset_hold=PAUSED, components=(component, helper))
    held = held.reported("Unhealthy", Reason.RESETS_PAUSED, "Job train: BackoffLimitExceeded; …")
    assert held.decision == recorded
    assert held.but(reset_hold=None).moves == [
        "-> Resetting (FailedComponent, spending a retry): Job train: BackoffLimitExceeded "
        "[logged: Job train]"
    ]


WHY = "pod a on node n uses nvidia.com/gpu"
EVACUATED = RUNNING.but(evacuation=Evacuation(WHY), evacuation_hold=BREAKER).reported(
    "Unhealthy", Reason.RESUMING
)
EVACUATION_REPORTED = EVACUATED.but(
    conditions=EVACUATED.snapshot.conditions | {"Unhealthy"}
).reported("Unhealthy", Reason.EVACUATION_HELD, "as above")
FAILED_MEANWHILE = EVACUATION_REPORTED.but(conditions=HOLDING | {"Unhealthy"}).pods(
    running=3, failed=1
)


@decisions(
    {
        "an evacuation is held and reported": (
            EVACUATED,
            f"""
            {reports(Reason.EVACUATION_HELD, f"{WHY}; 12 of 40 nodes turned bad")}
            start unready
            wake after 30s
            """,
        ),
        "once": (EVACUATION_REPORTED, "wake after 30s"),
        "until the node recovers": (
            EVACUATION_REPORTED.but(evacuation=None, evacuation_hold=None),
            "Unhealthy=False (FoundNoFailedPods)\nclear failure",
        ),
        "a pod that fails meanwhile has its grace period": (
            FAILED_MEANWHILE.since(admission=0, warmup=0),
            "start failure\nwake after 30s",
        ),
        "one second before the end of that grace period": (
            FAILED_MEANWHILE.since(admission=0, warmup=0, failure=59),
            "wake after 1s",
        ),
        "the node recovers and the failed pod remains": (
            FAILED_MEANWHILE.since(admission=0, warmup=0, failure=10).but(
                evacuation=None, evacuation_hold=None
            ),
            "Unhealthy=True (FoundFailedPods): 1 failed pod\nwake after 50s",
        ),
    }
)
def test_the_breaker_holds_evacuations(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


@pytest.mark.parametrize("hold", [PAUSED, BREAKER])
def test_an_evacuation_without_retries_left_fails_the_appwrapper_only_with_a_permit(
    hold: ResetHold,
) -> None:
    held = EVACUATED.but(retries=3, evacuation_hold=hold)
    assert held.moves == []
    (move,) = held.but(evacuation_hold=None).moves
    assert move.startswith("-> Failed (AutopilotNoExecute)")


@pytest.mark.parametrize(
    ("situation", "reason"),
    [
        pytest.param(EVACUATED.but(components=(GAVE_UP,)), "FailedComponent", id="gave up"),
        pytest.param(
            EVACUATED.pods(running=3, failed=1).since(failure=60), "FoundFailedPods", id="failed"
        ),
    ],
)
def test_the_breaker_holds_no_other_reset(situation: Situation, reason: str) -> None:
    (move,) = situation.moves
    assert move.startswith(f"-> Resetting ({reason}, spending a retry)")


BOTH = HELD.but(evacuation=Evacuation(WHY))


@pytest.mark.parametrize("hold", [RATE, PAUSED, BREAKER])
@pytest.mark.parametrize(
    ("situation", "phase"),
    [
        pytest.param(BOTH.but(suspend=True), Phase.SUSPENDING, id="suspension"),
        pytest.param(BOTH.but(deletion_requested=True), Phase.TERMINATING, id="deletion"),
        pytest.param(BOTH.but(retries=3), Phase.FAILED, id="failure without retries left"),
        pytest.param(
            HELD.pods(running=3, failed=1, terminal=EXIT_42),
            Phase.FAILED,
            id="failure by an exit code",
        ),
        pytest.param(
            BOTH.job(presence=Presence.GONE), Phase.FAILED, id="failure by a missing component"
        ),
        pytest.param(
            BOTH.job(terminal=Terminal.SUCCEEDED).pods(succeeded=4),
            Phase.SUCCEEDED,
            id="success",
        ),
    ],
)
def test_other_moves_never_wait_for_a_permit(
    hold: ResetHold, situation: Situation, phase: Phase
) -> None:
    (move,) = situation.but(reset_hold=hold, evacuation_hold=hold).moves
    assert move.startswith(f"-> {phase.value} (")


FORBIDDEN = "403 Forbidden: exceeded quota"
REFUSED = CreateProblem(fatal=False, message=FORBIDDEN, retry_at=ago(-2))
RESUMING = (
    RUNNING.job(presence=Presence.PLANNED)
    .but(phase=Phase.RESUMING, conditions=HOLDING, create_problem=REFUSED, reset_hold=RATE)
    .since(admission=60, warmup=60)
)
REPORTS = f"""
    ResourcesDeployed=True (CreateFailed): {FORBIDDEN}
    {reports(Reason.RESET_THROTTLED, f"{FORBIDDEN}; too many resets")}
"""


@decisions(
    {
        "the create waits for its pause": (RESUMING, f"{REPORTS}\nwake after 2s"),
        "the create is retried after its pause": (
            RESUMING.but(create_problem=replace(REFUSED, retry_at=ago())),
            f"ResourcesDeployed=True (CreateFailed): {FORBIDDEN}\ncreate\nwake after 0s",
        ),
        "the reset may be permitted before the end of the pause": (
            RESUMING.but(create_problem=replace(REFUSED, retry_at=ago(-9))),
            f"{REPORTS}\nwake after 3s",
        ),
        "resets are paused": (
            RESUMING.but(reset_hold=PAUSED),
            f"""
            ResourcesDeployed=True (CreateFailed): {FORBIDDEN}
            {reports(Reason.RESETS_PAUSED, f"{FORBIDDEN}; an admin set pauseResets")}
            wake after 2s
            """,
        ),
    }
)
def test_creates_are_retried_while_their_reset_is_held(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected
