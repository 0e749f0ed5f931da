"""All components exist: Running waits a moment for the pods, unless something is wrong."""

from dataclasses import replace
from datetime import timedelta

from controller.phases.phase import Phase
from controller.phases.snapshot import Evacuation, Presence
from shared.api.conditions import Terminal
from tests.support.decisions import HOLDING, JOB, RUNNING, Situation, decisions

CREATED = (
    RUNNING.but(phase=Phase.RESUMING, conditions=HOLDING)
    .pods(expected=4, pending=4)
    .since(admission=0.2, warmup=0.2)
)
MISSING = replace(JOB, name="eval", presence=Presence.PLANNED)
IS_RUNNING = """
    -> Running (ComponentsCreated)
    record as created: all
    ResourcesDeployed=True (ComponentsCreated)
"""
AT_ONCE = f"{IS_RUNNING}\nwake after 0s"
BEGIN = "start admission\nstart warmup"
LATE = AT_ONCE.replace("    ResourcesDeployed", f"    {BEGIN}\n    ResourcesDeployed")
WAITS = "wake after 0.8s"


@decisions(
    {
        "no pod exists yet": (CREATED.pods(expected=4), WAITS),
        "some pods run": (CREATED.pods(expected=4, running=3, pending=1), WAITS),
        "all pods run": (
            CREATED.pods(expected=4, running=4),
            f"""
            {IS_RUNNING}
            PodsReady=True (SufficientPodsReady)
            clear admission
            clear warmup
            wake after 0s
            """,
        ),
        "the last microsecond": (
            CREATED.since(admission=0.999999, warmup=1),
            "wake after 1e-06s",
        ),
        "the second is over": (CREATED.since(admission=1, warmup=1), AT_ONCE),
        "nobody knows when it began": (
            CREATED.since(warmup=1),
            f"{IS_RUNNING}\n{BEGIN}\nwake after 0s",
        ),
        "a component does not exist": (
            CREATED.but(components=(JOB, MISSING)),
            "create\nwake after 0s",
        ),
        "a pod failed": (CREATED.pods(expected=4, failed=1, pending=3), AT_ONCE),
        "a component failed": (CREATED.job(terminal=Terminal.FAILED), AT_ONCE),
        "a component ended": (CREATED.job(terminal=Terminal.SUCCEEDED), AT_ONCE),
        "a component cannot be read": (
            CREATED.job(presence=Presence.UNKNOWN, unreadable="403"),
            AT_ONCE,
        ),
        "a pod must leave its node": (CREATED.but(evacuation=Evacuation("node a")), AT_ONCE),
        "the warm-up period is shorter": (
            CREATED.configured(warmup_grace=timedelta(milliseconds=200)),
            LATE,
        ),
        "the admission period is shorter": (
            CREATED.pods(expected=4).configured(admission_grace=timedelta(milliseconds=200)),
            LATE,
        ),
    }
)
def test_running_waits_for_its_pods_for_a_second(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected
