from datetime import UTC, datetime
from typing import Any

import orjson

from controller.apply.status import status_after
from controller.phases.actions import (
    Actions,
    ClearTimer,
    CreateComponents,
    MoveTo,
    PlanDeployment,
    Reason,
    RecordDeployment,
    RecordEnds,
    RecordFailures,
    RecordPodSets,
    RecordRefusal,
    RecordRemoval,
    RecordRootCause,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision, RootCause
from controller.phases.snapshot import Timers
from controller.phases.timers import ZERO
from shared.api.appwrapper import AppWrapper
from shared.injection.component import generated_name

NOW = datetime(2026, 1, 1, 10, 0, 0, tzinfo=UTC)
NOW_TEXT = "2026-01-01T10:00:00Z"
JOB = {
    "template": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "train-"},
        "spec": {"parallelism": 2, "template": {"spec": {"containers": []}}},
    }
}
SERVICE = {"template": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}}}
BROKEN = {"template": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "no"}}}
POD_SETS = [
    {
        "path": "template.spec.template",
        "replicas": 2,
        "annotations": {
            "workload.codeflare.dev.appwrapper/tas-pod-index-label": (
                "batch.kubernetes.io/job-completion-index"
            )
        },
    }
]


def appwrapper(status: dict[str, Any] | None = None) -> AppWrapper:
    raw: dict[str, Any] = {
        "metadata": {
            "namespace": "team1",
            "name": "train",
            "uid": "u1",
            "resourceVersion": "7",
        },
        "spec": {"components": [JOB, SERVICE]},
    }
    if status is not None:
        raw["status"] = status
    return AppWrapper(raw)


def after(status: dict[str, Any] | None, *actions: Any, began: Timers | None = None) -> Any:
    chosen: Actions = actions
    return status_after(appwrapper(status), began or Timers(), chosen, NOW)


def recorded(name: str = "", kind: str = "", version: str = "", **fields: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "apiVersion": version, "podSets": [], **fields}


def deployed(status: str, reason: str) -> dict[str, Any]:
    return {
        "type": "ResourcesDeployed",
        "status": status,
        "lastTransitionTime": NOW_TEXT,
        "reason": reason,
        "message": "",
    }


def test_pod_sets_are_recorded_for_kueue() -> None:
    assert after(None, MoveTo(Phase.SUSPENDED, Reason.SUSPENDED), RecordPodSets()) == {
        "phase": "Suspended",
        "componentStatus": [{**recorded(), "podSets": POD_SETS}, recorded()],
    }


def test_a_component_with_unreadable_pod_sets_does_not_stop_the_others() -> None:
    broken = appwrapper()
    broken.spec["components"] = [BROKEN, JOB]
    status = status_after(broken, Timers(), (RecordPodSets(),), NOW)
    assert [each["podSets"] for each in status["componentStatus"]] == [[], POD_SETS]


def test_a_refused_component_and_those_after_it_are_not_there() -> None:
    made = recorded("svc", "Service", "v1", conditions=[deployed("Unknown", "X")])
    found = after({"componentStatus": [made, made, made]}, RecordRefusal(1, "403: " + "x" * 40000))
    refused = deployed("False", "CreateFailed")
    text = ("403: " + "x" * 40000)[:32768]
    later = "an earlier component could not be created"
    assert found["componentStatus"] == [
        made,
        {**made, "conditions": [{**refused, "message": text}]},
        {**made, "conditions": [{**refused, "message": later}]},
    ]


def test_those_that_exist_while_another_does_not() -> None:
    made = recorded("svc", "Service", "v1", conditions=[deployed("Unknown", "X")])
    found = after({"componentStatus": [made, made]}, RecordDeployment((0,)))
    created = deployed("True", "ComponentCreatedSuccessfully")
    assert found["componentStatus"] == [{**made, "conditions": [created]}, made]


def test_a_template_with_metadata_of_a_wrong_type_gets_a_name_all_the_same() -> None:
    """Creating it says what is wrong; a status that cannot be written says nothing."""
    broken = appwrapper({"phase": "Suspended"})
    for metadata in (None, "x", {"generateName": 5}):
        body = {**SERVICE["template"], "metadata": metadata}
        broken.spec["components"] = [{"template": body}]
        status = status_after(broken, Timers(), (PlanDeployment(),), NOW)
        prefix = "5" if isinstance(metadata, dict) else ""
        expected = generated_name(prefix, "u1", 1, 0)
        assert [each["name"] for each in status["componentStatus"]] == [expected]


def test_names_are_written_ahead() -> None:
    before = {
        "phase": "Suspended",
        "attempt": 2,
        "componentStatus": [{**recorded(), "podSets": POD_SETS}, recorded()],
    }
    initiated = [deployed("Unknown", "ComponentCreationInitiated")]
    name = generated_name("train-", "u1", 3, 0)
    assert after(
        before,
        MoveTo(Phase.RESUMING, Reason.RESUMING),
        PlanDeployment(),
        StartTimer(Timer.WARMUP),
        CreateComponents(),
    ) == {
        "phase": "Resuming",
        "attempt": 3,
        "componentStatus": [
            {
                **recorded(name, "Job", "batch/v1", conditions=initiated),
                "podSets": POD_SETS,
            },
            recorded("svc", "Service", "v1", conditions=initiated),
        ],
        "timers": {
            "warmup": {
                "began": "2026-01-01T10:00:00.000000Z",
                "phase": "Resuming",
                "attempt": 3,
                "resettingCount": 0,
            }
        },
    }


def test_a_name_that_another_operator_chose_stays() -> None:
    before = {"phase": "Resuming", "componentStatus": [recorded("train-zz", "Job"), recorded()]}
    names = [each["name"] for each in after(before, PlanDeployment())["componentStatus"]]
    assert names == ["train-zz", "svc"]


def test_components_are_marked() -> None:
    before = {"phase": "Running", "componentStatus": [recorded("a"), recorded("b")]}
    for action, condition in (
        (RecordDeployment(), deployed("True", "ComponentCreatedSuccessfully")),
        (RecordRemoval(), deployed("False", "ComponentDeleted")),
    ):
        assert after(before, action)["componentStatus"] == [
            recorded("a", conditions=[condition]),
            recorded("b", conditions=[condition]),
        ]


def test_ends_are_marked_and_forgotten_by_the_next_attempt() -> None:
    before = {"phase": "Running", "componentStatus": [recorded("a"), recorded("b")]}
    ended = {
        **deployed("True", "ComponentSucceeded"),
        "type": "Succeeded",
    }
    status = after(before, RecordEnds((1,)))
    assert status["componentStatus"] == [recorded("a"), recorded("b", conditions=[ended])]
    again = after(status, PlanDeployment())
    conditions = again["componentStatus"][1]["conditions"]
    assert conditions == [deployed("Unknown", "ComponentCreationInitiated")]


def test_failures_are_recorded_with_their_messages_until_the_next_attempt() -> None:
    before = {"phase": "Running", "componentStatus": [recorded("a"), recorded("b")]}
    failed = {
        **deployed("False", "FailedComponent"),
        "type": "Succeeded",
        "message": "BackoffLimitExceeded",
    }
    status = after(before, RecordFailures(((1, "BackoffLimitExceeded"),)))
    assert status["componentStatus"] == [recorded("a"), recorded("b", conditions=[failed])]
    again = after(status, PlanDeployment())
    conditions = again["componentStatus"][1]["conditions"]
    assert conditions == [deployed("Unknown", "ComponentCreationInitiated")]


def test_a_retry_is_counted_once() -> None:
    before = {"phase": "Running", "resettingCount": 1}
    move = MoveTo(Phase.RESETTING, Reason.FAILED_PODS, "1 failed pods", spend_retry=True)
    assert after(before, move) == {"phase": "Resetting", "resettingCount": 2}


def test_timers_go_with_the_phase_they_belong_to() -> None:
    began = Timers(admission=NOW, failure=NOW)
    status = after({"phase": "Resuming", "attempt": 1}, began=began)
    assert status == {"phase": "Resuming", "attempt": 1}
    moved = after(
        {"phase": "Resuming", "attempt": 1},
        MoveTo(Phase.RUNNING, Reason.DEPLOYED),
        began=began,
    )
    assert {key: entry["phase"] for key, entry in moved["timers"].items()} == {
        "admission": "Running"
    }
    kept = after(
        {"phase": "Resuming", "attempt": 1},
        MoveTo(Phase.RUNNING, Reason.DEPLOYED),
        began=Timers(warmup=NOW),
    )
    assert kept["timers"]["warmup"]["phase"] == "Running", "though no timer changed"
    cleared = after(
        {"phase": "Running", "timers": {"x": 1}}, ClearTimer(Timer.FAILURE), began=began
    )
    assert set(cleared["timers"]) == {"admission"}


def test_no_timer_leaves_no_trace() -> None:
    before = {"phase": "Running", "timers": {"failure": {}}}
    status = after(before, ClearTimer(Timer.FAILURE), began=Timers(failure=NOW))
    assert status == {"phase": "Running"}


def test_an_action_without_effect_leaves_an_equal_status() -> None:
    before = {
        "phase": "Running",
        "conditions": [{**deployed("True", "Resuming"), "lastTransitionTime": "2025-01-01"}],
        "timers": {"failure": {"began": "?"}},
        "rootCause": {"summary": "kept"},
    }
    again = SetCondition("ResourcesDeployed", True, Reason.RESUMING)
    assert after(before, again, WakeAfter(ZERO)) == before


def test_a_message_is_cut_to_what_the_schema_takes() -> None:
    action = SetCondition("Unhealthy", True, Reason.CREATE_FAILED, "x" * 40000)
    assert len(after({}, action)["conditions"][0]["message"]) == 32768


def status_of(*decisions: tuple[int, str, Decision]) -> dict[str, Any]:
    """The status after these, each of an attempt and a pod."""
    status: dict[str, Any] = {}
    for attempt, pod, decision in decisions:
        cause = RootCause(pod=pod, message="x" * 600, exit_code=1)
        status = after({**status, "attempt": attempt}, RecordRootCause(cause, decision))
    return status


def entries(status: dict[str, Any]) -> list[tuple[int, str, str]]:
    kept = status.get("errorHistory", [])
    return [(each["attempt"], each["pod"], each["decision"]) for each in kept]


def test_a_healed_failure_is_only_in_the_history_in_order() -> None:
    """Case 20."""
    first, healed = (1, "a", Decision.RETRY), (2, "b", Decision.NONE)
    status = status_of(first, healed, healed)
    assert (status["rootCause"]["pod"], entries(status)) == ("a", [(2, "b", "None")])
    last = status_of(first, healed, (2, "c", Decision.RETRY))
    assert last["rootCause"]["pod"] == "c"
    assert entries(last) == [(1, "a", "Retry"), (2, "b", "None")]


def test_the_history_is_bounded() -> None:
    status = status_of(*((number, f"p{number}", Decision.RETRY) for number in range(1, 9)))
    assert [each[0] for each in entries(status)] == [3, 4, 5, 6, 7]
    assert all(len(orjson.dumps(each)) <= 512 for each in status["errorHistory"])
    assert len(status["rootCause"]["message"].encode()) <= 2048


def test_a_suspension_keeps_the_root_cause_of_before() -> None:
    """Cases 18 and 25."""
    before = status_of((1, "a", Decision.RETRY))
    for reason, phase in (
        (Reason.SUSPENDING, Phase.SUSPENDING),
        (Reason.AUTOPILOT_NO_EXECUTE, Phase.RESETTING),
    ):
        assert after(before, MoveTo(phase, reason))["rootCause"] == before["rootCause"]


def test_each_time_with_quota_is_added_when_the_quota_is_released() -> None:
    release = SetCondition("QuotaReserved", False, Reason.SUSPENDED)
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "Resuming", "message": ""}
    began = {**reserved, "lastTransitionTime": "2026-01-01T09:59:00Z"}
    first = after({"phase": "Suspending", "conditions": [began]}, release)
    assert first["quotaSeconds"] == 60
    assert after(first, release)["quotaSeconds"] == 60  # it is released once
    # An earlier version released it, and did not record the time.
    released = {"attempt": 1, "conditions": [{**began, "status": "False"}]}
    assert "quotaSeconds" not in after(released, release)
    again = {**first, "conditions": [{**began, "lastTransitionTime": "2026-01-01T09:59:30Z"}]}
    assert "quotaSeconds" not in after({"conditions": [began]}, MoveTo(Phase.FAILED, Reason.FAILED))
    assert after(again, release)["quotaSeconds"] == 90
