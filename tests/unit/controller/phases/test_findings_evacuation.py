"""A node's label evacuates the running pods on it."""

from controller.phases.phase import Phase
from controller.phases.snapshot import Evacuation, Presence
from controller.reports.reason import Reason
from shared.api.conditions import Terminal
from tests.support.decisions import EXIT_42, RUNNING, Situation, decisions, resets

WHY = "pod train-0 on node n uses nvidia.com/gpu, autopilot.ibm.com/gpuhealth=EVICT"
EVACUATED = RUNNING.but(evacuation=Evacuation(WHY))
MOVES = resets(Reason.AUTOPILOT_NO_EXECUTE, WHY, spent=0, free=True)


@decisions(
    {
        "a reset follows at once, and spends no retry": (EVACUATED, MOVES),
        "a node that had the label when the pod came spends a retry": (
            EVACUATED.but(evacuation=Evacuation(WHY, spends_retry=True)),
            resets(Reason.AUTOPILOT_NO_EXECUTE, WHY),
        ),
        "one retry left is enough, and is not spent": (
            EVACUATED.but(retries=2),
            resets(Reason.AUTOPILOT_NO_EXECUTE, WHY, spent=2, free=True),
        ),
        "it takes precedence over failed pods within their grace period": (
            EVACUATED.pods(running=3, failed=1).since(failure=0),
            MOVES,
        ),
        "it takes precedence over a terminal exit code: the node may be the cause": (
            EVACUATED.pods(running=3, failed=1, terminal=EXIT_42),
            MOVES,
        ),
        "a component that gave up takes precedence": (
            EVACUATED.job(terminal=Terminal.FAILED, message="no"),
            resets(Reason.FAILED_COMPONENT, "Job train: no", "Job train"),
        ),
        "stragglers after success are removed, not evacuated": (
            EVACUATED.job(terminal=Terminal.SUCCEEDED, end_recorded=True).pods(
                expected=0, unawaited=2, stragglers=2
            ),
            """
            start stragglers
            wake after 60s
            """,
        ),
    }
)
def test_a_label_evacuates_running_pods(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


@decisions(
    {
        "no retry is left": (EVACUATED.but(retries=3), "-> Failed (AutopilotNoExecute)"),
        "suspension": (EVACUATED.but(suspend=True), "-> Suspending (Suspending)"),
        "a component is missing": (
            EVACUATED.job(presence=Presence.GONE),
            "-> Failed (MissingComponent)",
        ),
        "success": (
            EVACUATED.job(terminal=Terminal.SUCCEEDED).pods(expected=0, succeeded=4),
            "-> Succeeded (Succeeded)",
        ),
        "Resuming leaves the evacuation to Running": (
            EVACUATED.but(phase=Phase.RESUMING),
            "-> Running (ComponentsCreated)",
        ),
    }
)
def test_another_move_takes_precedence_over_an_evacuation(
    situation: Situation, expected: list[str]
) -> None:
    assert [move.partition(":")[0] for move in situation.moves] == expected
