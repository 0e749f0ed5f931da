"""Running, while an AppWrapper does not succeed."""

from dataclasses import replace
from datetime import timedelta

from controller.phases.readiness import pods_missing
from controller.phases.snapshot import Presence
from controller.reports.reason import Reason
from shared.api.conditions import Terminal
from tests.support.decisions import (
    EXIT_42,
    HOLDING,
    JOB,
    RUNNING,
    SERVICE,
    SPARING_DELETION_BEGINS,
    SUCCEEDS,
    Situation,
    decisions,
    fails,
    resets,
)

DEPLOYED = RUNNING.but(components=(SERVICE, JOB))
ONE_FAILED = DEPLOYED.pods(running=3, failed=1)
WITHOUT_SERVICE = DEPLOYED.but(components=(replace(SERVICE, presence=Presence.GONE), JOB))
GAVE_UP = RUNNING.job(terminal=Terminal.FAILED, message="no")
FORBIDDEN = "exit code 42 of train-0 is in terminalExitCodes"


def not_ready(situation: Situation) -> Situation:
    """PodsReady is False, and its message is written already."""
    situation = situation.but(conditions=HOLDING)
    return situation.after(pods_missing(situation.snapshot, Reason.RESUMING))


@decisions(
    {
        "a healthy AppWrapper needs nothing until something changes": (DEPLOYED, ""),
        "suspension takes precedence over a failed pod": (
            ONE_FAILED.but(suspend=True),
            f"-> Suspending (Suspending)\n{SPARING_DELETION_BEGINS}",
        ),
        "suspension takes precedence over success": (
            RUNNING.job(terminal=Terminal.SUCCEEDED).pods(succeeded=4).but(suspend=True),
            f"-> Suspending (Suspending)\n{SPARING_DELETION_BEGINS}",
        ),
        "a deleted component fails the AppWrapper at once, though retries remain": (
            WITHOUT_SERVICE,
            fails(Reason.MISSING_COMPONENT, "deleted by another client: Service rendezvous"),
        ),
        "a Job that its TTL deleted after it completed is not missing": (
            RUNNING.job(presence=Presence.GONE, terminal=Terminal.SUCCEEDED).pods(),
            SUCCEEDS,
        ),
        "a Service that a client deletes after the Job succeeded is not missing": (
            WITHOUT_SERVICE.but(
                components=(
                    replace(SERVICE, presence=Presence.GONE),
                    replace(JOB, terminal=Terminal.SUCCEEDED),
                )
            ).pods(succeeded=4),
            SUCCEEDS,
        ),
        "the end of the namespace is no failure": (
            WITHOUT_SERVICE.but(namespace_ending=True),
            "ResourcesDeployed=True (NamespaceTerminating): its namespace is being deleted, and "
            "everything in it",
        ),
        "a component that is being deleted is not missing yet": (
            DEPLOYED.but(components=(replace(SERVICE, presence=Presence.DELETING), JOB)),
            "",
        ),
        "a component that gave up is reset without a grace period": (
            GAVE_UP,
            resets(Reason.FAILED_COMPONENT, "Job train: no", "Job train"),
        ),
        "a failed component without pods counts, though the others succeeded": (
            RUNNING.but(
                components=(
                    replace(JOB, terminal=Terminal.SUCCEEDED),
                    replace(JOB, name="idle", expected_pods=0, terminal=Terminal.FAILED),
                )
            ).pods(succeeded=4),
            resets(Reason.FAILED_COMPONENT, "Job idle: ", "Job idle"),
        ),
        "without retries left it fails": (
            GAVE_UP.but(retries=3),
            fails(
                Reason.FAILED_COMPONENT,
                "retries exhausted (3 of 3): Job train: no",
                "retries exhausted (3 of 3): Job train",
            ),
        ),
        "an exit code that forbids retries fails it": (
            GAVE_UP.pods(running=3, failed=1, terminal=EXIT_42).configured(
                terminal_exit_codes=frozenset({42})
            ),
            fails(
                Reason.FAILED_COMPONENT,
                f"no retry: {FORBIDDEN}; Job train: no",
                f"no retry: {FORBIDDEN}; Job train",
            ),
        ),
        "the pods for which a component gave up are named": (
            GAVE_UP.pods(running=3, failed=1, failed_named="train-0 on gpu-node-1"),
            resets(
                Reason.FAILED_COMPONENT,
                "Job train: no; 1 failed pod: train-0 on gpu-node-1",
                "Job train; 1 failed pod: train-0 on gpu-node-1",
            ),
        ),
    }
)
def test_suspension_and_components_decide_before_pods(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected


WAITING = not_ready(ONE_FAILED)


@decisions(
    {
        "the first failed pod starts the grace period": (
            ONE_FAILED,
            """
            PodsReady=False (InsufficientPodsReady): 3 of 4 pods run
            start admission
            start warmup
            Unhealthy=True (FoundFailedPods): 1 failed pod
            start failure
            start unready
            wake after 60s
            """,
        ),
        "one second before the deadline it still waits": (
            WAITING.since(failure=59, admission=0, warmup=0),
            "wake after 1s",
        ),
        "at the deadline it resets and spends a retry": (
            WAITING.since(failure=60, admission=0, warmup=0),
            resets(Reason.FAILED_PODS, "1 failed pod"),
        ),
        "a start in the future counts as now": (
            WAITING.since(failure=-3600, admission=0, warmup=0),
            "wake after 60s",
        ),
        "without a grace period it resets at once": (
            ONE_FAILED.configured(failure_grace=timedelta(0)),
            resets(Reason.FAILED_PODS, "1 failed pod"),
        ),
        "the reset names the failed pods": (
            DEPLOYED.pods(failed=2, failed_named="train-0, train-2").configured(
                failure_grace=timedelta(0)
            ),
            resets(Reason.FAILED_PODS, "2 failed pods: train-0, train-2"),
        ),
        "a replacement within the grace period ends it": (
            DEPLOYED.but(conditions=DEPLOYED.snapshot.conditions | {"Unhealthy"}).since(failure=30),
            """
            Unhealthy=False (FoundNoFailedPods)
            clear failure
            """,
        ),
    }
)
def test_a_failed_pod_has_a_grace_period(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


LEAVING = RUNNING.job(presence=Presence.DELETING).pods(running=3, failed=1)


@decisions(
    {
        "the pods of a deleted Job fail before it is gone": (
            LEAVING,
            fails(Reason.MISSING_COMPONENT, "deleted by another client: Job train"),
        ),
        "a helper": (
            RUNNING.job(presence=Presence.DELETING, helper=True).pods(running=3, failed=1),
            resets(Reason.FAILED_PODS, "1 failed pod"),
        ),
        "a bare pod that a silent node lost": (
            RUNNING.job(presence=Presence.DELETING, kind="Pod").pods(running=3, failed=1),
            resets(Reason.FAILED_PODS, "1 failed pod"),
        ),
    }
)
def test_after_the_grace_period_only_a_component_deleted_by_a_client_fails_the_appwrapper(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision[-1] == "wake after 60s"
    assert situation.configured(failure_grace=timedelta(0)).decision == expected


def insufficient(message: str) -> str:
    return f"""
        Unhealthy=True (InsufficientPodsReady): {message}
        start failure
        start unready
        wake after 60s
    """


TOO_FEW = RUNNING.pods(pending=3)
SLOW = RUNNING.pods(pending=1, pending_named="train-3 without a node", running=3)


@decisions(
    {
        "too few pods exist, one second before the admission deadline": (
            not_ready(TOO_FEW).since(admission=59, warmup=59),
            "wake after 1s",
        ),
        "too few pods exist at the admission deadline": (
            not_ready(TOO_FEW).since(admission=60, warmup=60),
            insufficient("3 of 4 pods exist"),
        ),
        "too few pods run, one second before the warm-up deadline": (
            not_ready(SLOW).since(admission=299, warmup=299),
            "wake after 1s",
        ),
        "too few pods run at the warm-up deadline": (
            not_ready(SLOW).since(admission=300, warmup=300),
            insufficient("3 of 4 pods run or succeeded; not running: train-3 without a node"),
        ),
        "all pods run": (
            RUNNING.but(conditions=HOLDING).since(admission=0, warmup=0),
            """
            PodsReady=True (SufficientPodsReady)
            clear admission
            clear warmup
            """,
        ),
        "a lost pod gets a whole warm-up period again": (
            RUNNING.pods(running=3),
            """
            PodsReady=False (InsufficientPodsReady): 3 of 4 pods run; 3 exist
            start admission
            start warmup
            start unready
            wake after 60s
            """,
        ),
    }
)
def test_pods_have_an_admission_and_a_warmup_period(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected
