"""The phases before Running, and Resetting, which begins the next attempt."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.phases.actions import SetCondition
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    CreateProblem,
    PodSetInfos,
    Presence,
    Snapshot,
    Timers,
)
from controller.reports.quota_reserved import nodes_unchanged, reserved
from controller.reports.reason import Reason
from shared.api.conditions import Terminal
from tests.support.decisions import (
    HOLDING,
    JOB,
    RUNNING,
    SPARING_DELETION_BEGINS,
    SPARING_DELETION_ENDS,
    SUSPENDING,
    Situation,
    decisions,
    deploys,
    fails,
    lines,
    resets,
)
from tests.support.moments import ago

SUSPENDED = Situation(Snapshot(phase=Phase.SUSPENDED))
QUEUED = SUSPENDED.but(queued=True)
STARTS = f"add finalizer\n{deploys(Reason.RESUMING)}"
# If Kueue does not manage the namespace, nothing else reports why nothing happens.
REPORTS_THE_WAIT = (
    "QuotaReserved=False (Suspended): it starts when Kueue writes podSetInfos; if Kueue never "
    "does, Kueue does not manage this namespace or AppWrappers"
)


@decisions(
    {
        "suspended": (SUSPENDED.but(suspend=True), ""),
        "no queue and not suspended": (SUSPENDED, STARTS),
        "queued, without podSetInfos": (QUEUED, REPORTS_THE_WAIT),
        "queued, with too few podSetInfos": (
            QUEUED.but(pod_set_infos=PodSetInfos.MISMATCHED),
            REPORTS_THE_WAIT,
        ),
        "admitted by Kueue": (QUEUED.but(pod_set_infos=PodSetInfos.COMPLETE), STARTS),
        "an object of an earlier attempt may use quota": (
            SUSPENDED.but(unexpected_alive=True),
            "wake after 5s",
        ),
        "that object is not being deleted yet": (
            SUSPENDED.but(unexpected_alive=True, unexpected_due=True),
            "wake after 5s\ndelete unexpected",
        ),
        "an object of an earlier attempt while it is suspended": (
            SUSPENDED.but(suspend=True, unexpected_alive=True, unexpected_due=True),
            "delete unexpected",
        ),
        "podSetInfos mean nothing while it is suspended": (
            QUEUED.but(suspend=True, pod_set_infos=PodSetInfos.COMPLETE),
            "",
        ),
    }
)
def test_an_appwrapper_starts_when_kueue_admits_it(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected


RETRIES = Situation(
    Snapshot(
        phase=Phase.RESETTING,
        finalizer=True,
        topology_workload="w",
        timers=Timers(retry_pause=ago(90)),
    )
).after(reserved("Kueue evicted Workload w"))
NODES = nodes_unchanged("w")


@pytest.mark.parametrize(
    ("situation", "written"),
    [
        pytest.param(RETRIES, [], id="it stays as it is, with a reported eviction"),
        pytest.param(RETRIES.after(NODES), [""], id="a report about the last attempt's nodes"),
        pytest.param(
            RETRIES.after(NODES).but(reported={}), [""], id="the same, by another process"
        ),
        pytest.param(RETRIES.but(reported={}), [], id="a reported eviction, by another process"),
        pytest.param(
            RETRIES.reported("QuotaReserved", "Suspended", "x"), [""], id="of another operator"
        ),
    ],
)
def test_quota_reserved_in_a_retry(situation: Situation, written: list[str]) -> None:
    reports = [each for each in situation.actions if isinstance(each, SetCondition)]
    assert [each.message for each in reports if each.type == "QuotaReserved"] == written


MISSING = replace(JOB, name="eval", presence=Presence.PLANNED)
RESUMING = (
    RUNNING.but(phase=Phase.RESUMING, conditions=HOLDING, components=(JOB, MISSING))
    .pods(expected=8, pending=4)
    .since(admission=10, warmup=10)
)
DEPLOYED = RESUMING.job()
IS_DEPLOYED = """
    -> Running (ComponentsCreated)
    record as created: all
    ResourcesDeployed=True (ComponentsCreated)
"""
PERIODS_BEGIN = "start admission\nstart warmup"
DEPLOYED_AFTER_A_PAUSE = f"""
    -> Running (ComponentsCreated)
    record as created: all
    {PERIODS_BEGIN}
    ResourcesDeployed=True (ComponentsCreated)
    PodsReady=False (Resuming): 0 of 4 pods run; 0 exist
    start pods_reported
    wake after 0s
"""
CREATES = "create\nwake after 0s"
FORBIDDEN = "403 Forbidden: exceeded quota"
REFUSED = CreateProblem(fatal=False, message=FORBIDDEN, retry_at=ago(-4))
STUCK = RESUMING.but(create_problem=REFUSED)
RETRIED = RESUMING.but(create_problem=replace(REFUSED, retry_at=ago()))
FIRST = RESUMING.but(create_problem=replace(REFUSED, first_at=ago(6)))
REPORTS_THE_REFUSAL = f"ResourcesDeployed=True (CreateFailed): {FORBIDDEN}"


@decisions(
    {
        "a component is missing": (RESUMING, CREATES),
        "all components exist": (DEPLOYED, f"{IS_DEPLOYED}\nwake after 0s"),
        "all components exist one second before the admission deadline": (
            DEPLOYED.pods(expected=4).since(admission=59, warmup=59),
            f"""
            {IS_DEPLOYED}
            PodsReady=False (Resuming): 0 of 4 pods run; 0 exist
            start pods_reported
            wake after 0s
            """,
        ),
        "all components exist at the admission deadline: the controller was away": (
            DEPLOYED.pods(expected=4).since(admission=60, warmup=60),
            DEPLOYED_AFTER_A_PAUSE,
        ),
        "all components exist when a shorter warm-up is over: the controller was away": (
            DEPLOYED.pods(expected=4).since(admission=59, warmup=300),
            DEPLOYED_AFTER_A_PAUSE,
        ),
        "all pods run already": (
            DEPLOYED.pods(expected=4, running=4),
            f"""
            {IS_DEPLOYED}
            PodsReady=True (SufficientPodsReady)
            clear admission
            clear warmup
            wake after 0s
            """,
        ),
        "the component ended and was deleted already": (
            RESUMING.job(presence=Presence.GONE, terminal=Terminal.SUCCEEDED),
            f"{IS_DEPLOYED}\nwake after 0s",
        ),
        "the API server does not serve the Kind of a created component now": (
            RESUMING.job(presence=Presence.UNKNOWN),
            f"{IS_DEPLOYED}\nwake after 0s",
        ),
        "begun by another operator at a known time: its periods continue": (
            RESUMING.but(planned=False),
            f"plan the next attempt\n{CREATES}",
        ),
        "begun by another operator at an unknown time: its periods begin now": (
            RESUMING.but(planned=False).since(),
            f"plan the next attempt\n{PERIODS_BEGIN}\n{CREATES}",
        ),
        "suspended meanwhile": (
            RESUMING.but(suspend=True),
            f"-> Suspending (Suspending)\n{SPARING_DELETION_BEGINS}",
        ),
        "podSetInfos differ in number from the pod sets": (
            RESUMING.but(pod_set_infos=PodSetInfos.MISMATCHED),
            fails(Reason.CREATE_FAILED, "podSetInfos and pod sets differ in number"),
        ),
        "an invalid object fails it whatever the retry limit": (
            RESUMING.but(create_problem=CreateProblem(fatal=True, message="422 Invalid: no image")),
            fails(Reason.CREATE_FAILED, "422 Invalid: no image"),
        ),
        "another client deleted the first component before the second exists": (
            RESUMING.but(
                components=(replace(JOB, presence=Presence.GONE), MISSING),
            ),
            fails(Reason.MISSING_COMPONENT, "deleted by another client: Job train").replace(
                "wake after 5s", "wake after 0s"
            ),
        ),
        "a refused create waits for its pause": (
            STUCK,
            f"{REPORTS_THE_REFUSAL}\nwake after 4s",
        ),
        "a refused create is retried after its pause": (
            RETRIED,
            f"{REPORTS_THE_REFUSAL}\n{CREATES}",
        ),
        "a refused create, one second before the admission deadline": (
            STUCK.since(admission=59),
            f"{REPORTS_THE_REFUSAL}\nwake after 1s",
        ),
        "a refused create at the admission deadline": (
            STUCK.since(admission=60),
            resets(Reason.CREATE_FAILED, FORBIDDEN),
        ),
        "a refused create whose retry is due at the admission deadline: the controller was away": (
            RETRIED.since(admission=60),
            f"{REPORTS_THE_REFUSAL}\n{CREATES}",
        ),
        "a create that failed first one second before the admission deadline": (
            FIRST.since(admission=65),
            resets(Reason.CREATE_FAILED, FORBIDDEN),
        ),
        "a create that failed first at the admission deadline: no controller was there": (
            FIRST.since(admission=66),
            f"{REPORTS_THE_REFUSAL}\n{PERIODS_BEGIN}\nwake after 4s",
        ),
        "a create that failed, without an admission period": (
            FIRST.since(admission=66).configured(admission_grace=timedelta(0)),
            resets(Reason.CREATE_FAILED, FORBIDDEN),
        ),
        "a refused create, without a start of the admission period": (
            STUCK.since(),
            f"{REPORTS_THE_REFUSAL}\n{PERIODS_BEGIN}\nwake after 4s",
        ),
        "a refused create after its pause, without a start of the admission period": (
            RETRIED.since(),
            f"{REPORTS_THE_REFUSAL}\n{PERIODS_BEGIN}\n{CREATES}",
        ),
    }
)
def test_resuming_creates_components_within_the_admission_period(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected


@pytest.mark.parametrize(
    ("refused", "announced", "recorded"),
    [
        pytest.param(0, True, [f"record as refused: 0: {FORBIDDEN}"], id="refused"),
        pytest.param(0, False, [], id="recorded already"),
        pytest.param(None, True, [], id="the outcome is unknown"),
        pytest.param(7, True, [], id="no such component any more"),
    ],
)
@pytest.mark.parametrize("phase", [Phase.RESUMING, Phase.SUSPENDING, Phase.TERMINATING])
@pytest.mark.parametrize("deletion_requested", [False, True])
def test_every_phase_records_a_refusal(
    phase: Phase,
    deletion_requested: bool,
    refused: int | None,
    announced: bool,
    recorded: list[str],
) -> None:
    """Only the record proves that an object does not exist which the controller may not read."""
    situation = RESUMING.job(presence=Presence.PLANNED, announced=announced).but(
        phase=phase, deletion_requested=deletion_requested, create_problem=REFUSED
    )
    noted = situation.but(create_problem=replace(REFUSED, refused=refused))
    assert noted.decision == recorded + situation.decision


@pytest.mark.parametrize(
    ("made", "recorded"),
    [
        pytest.param({"announced": True}, ["record as created: 0"], id="announced"),
        pytest.param({}, [], id="recorded already"),
        pytest.param({"announced": True, "presence": Presence.UNKNOWN}, [], id="unreadable"),
    ],
)
def test_a_created_component_is_recorded_with_the_first_refusal_of_another(
    made: dict[str, object], recorded: list[str]
) -> None:
    """A successor of this process must know that the object exists."""
    first = replace(JOB, **made)  # type: ignore[arg-type]
    stuck = STUCK.but(components=(first, replace(MISSING, announced=True)))
    assert stuck.decision == [*recorded, REPORTS_THE_REFUSAL, "wake after 4s"]
    # Without a refusal the next write records all at once.
    assert stuck.but(create_problem=None).decision == lines(CREATES)


RESETTING = SUSPENDING.but(phase=Phase.RESETTING, suspend=False)
NEXT = "PodsReady=False (Resetting): 0 of 3 retries spent; the next attempt begins at "


@decisions(
    {
        "the deletion has not ended": (RESETTING, "wake after 5s"),
        "all is gone: the pause begins": (
            RESETTING.but(gone=True),
            f"""
            {SPARING_DELETION_ENDS}
            {NEXT}2026-01-01T00:01:30Z
            start retry_pause
            wake after 90s
            """,
        ),
        "one second before the end of the pause": (
            RESETTING.since(retry_pause=89),
            "wake after 1s",
        ),
        "at the end of the pause": (
            RESETTING.since(retry_pause=90),
            deploys(Reason.RETRY_PAUSE_OVER),
        ),
        "suspended meanwhile: the deletion continues": (
            RESETTING.but(suspend=True),
            """
            -> Suspending (Suspending)
            delete, sparing kept components
            wake after 5s
            """,
        ),
    }
)
def test_resetting_begins_the_next_attempt_after_the_deletion_and_a_pause(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected
