"""What people hear of a decision: at most one Event for each thing, and a log line."""

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.apply.events import Teller
from controller.facts.deployed import DeployedObject
from controller.facts.observe import Observation
from controller.phases.actions import (
    Action,
    MoveTo,
    RecordRootCause,
    SetCondition,
    WakeAfter,
    Warn,
)
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision, RootCause
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.timers import ZERO
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.kinds.job import JOBS
from shared.kube.events import ObjectReference

ABOUT = ObjectReference("workload.codeflare.dev/v1beta2", "AppWrapper", "team1", "train", "u1")
UNHEALTHY, PODS_READY, DEPLOYED = "Unhealthy", "PodsReady", "ResourcesDeployed"


class Heard:
    """Recorder and meter in one."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.measured: list[Any] = []

    def normal(self, about: ObjectReference, reason: str, message: str) -> None:
        assert about == ABOUT
        self.events.append(("Normal", reason, message))

    def warning(self, about: ObjectReference, reason: str, message: str) -> None:
        assert about == ABOUT
        self.events.append(("Warning", reason, message))

    def swept(self, objects: int) -> None:
        self.measured.append(objects)

    def measure(self, observation: Observation, actions: Any) -> None:
        self.measured.append(actions)


def heard_of(*actions: Action, conditions: Any = (), phase: str = "Running") -> Heard:
    """What is heard of these actions where the conditions were so."""
    heard = Heard()
    recorder: Any = heard
    appwrapper = AppWrapper(
        {
            "metadata": {"namespace": "team1", "name": "train", "uid": "u1"},
            "status": {"phase": phase, "conditions": list(conditions)},
        }
    )
    observation = Observation(appwrapper, Snapshot(phase=Phase.RUNNING), FaultTolerance())
    Teller(recorder, recorder).tell(observation, actions)
    assert heard.measured == [actions]
    return heard


def condition(kind: str, status: str, reason: str, message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


CAUSE = RootCause(
    pod="train-3",
    node="gpu-4",
    rank=3,
    exit_code=1,
    failed_pods=4,
    time=datetime(2026, 1, 1, 10, tzinfo=UTC),
    message="ValueError: SECRET\nin shard 7",
)
ROOT_CAUSE = (
    "Warning",
    "RootCause",
    "train-3 on gpu-4 failed first (rank 3, exit code 1) at 10:00:00 UTC: ValueError: SECRET"
    " | in shard 7; retry 1 of 3 follows",
)


def test_the_event_of_a_failed_attempt_names_its_root_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    message, logged = "4 failed pods: SECRET", "4 failed pods"
    heard = heard_of(
        MoveTo(Phase.RESETTING, Reason.FAILED_PODS, message, logged=logged),
        SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, message, logged),
        RecordRootCause(CAUSE, Decision.RETRY, "retry 1 of 3 follows"),
    )
    reset = "unhealthy; deleting its components before another attempt: 4 failed pods: SECRET"
    assert heard.events == [("Warning", "FoundFailedPods", reset), ROOT_CAUSE]
    assert "SECRET" not in caplog.text


def test_a_non_recoverable_error_changes_the_reason_of_the_event_and_adds_none() -> None:
    fatal = RecordRootCause(CAUSE, Decision.TERMINAL, "no retry", non_recoverable=True)
    heard = heard_of(
        MoveTo(Phase.FAILED, Reason.FAILED_PODS, "why"),
        SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, "why"),
        fatal,
    )
    assert [each[:2] for each in heard.events] == [
        ("Warning", "NonRecoverableError"),
        ("Warning", "RootCause"),
    ]
    assert heard.events[0][2] == "failed: why"


def test_a_healed_failure_emits_no_event_of_a_root_cause() -> None:
    healthy = SetCondition(UNHEALTHY, False, Reason.NO_FAILED_PODS)
    heard = heard_of(healthy, RecordRootCause(CAUSE, Decision.NONE))
    assert [each[1] for each in heard.events] == ["FoundNoFailedPods"]


@pytest.mark.parametrize("letter", ["x", "é"])
def test_an_event_of_a_root_cause_has_at_most_a_kibibyte(letter: str) -> None:
    long = replace(CAUSE, pod="p" * 253, node="n" * 253, message=f"{letter * 100}\n" * 20)
    (event,) = heard_of(RecordRootCause(long, Decision.RETRY, "retry 1 of 3 follows")).events
    assert len(event[2].encode()) <= 1024
    assert event[2].endswith("; retry 1 of 3 follows")


def test_words_of_users_are_in_no_log_line_of_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    reason = Reason.RESETS_PAUSED
    heard = heard_of(
        Warn(reason, "SECRET; paused", "1 failed pod; paused"),
        SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, "SECRET", "1 failed pod"),
    )
    assert [each[2] for each in heard.events] == ["SECRET; paused", "unhealthy: SECRET"]
    assert caplog.messages == ["1 failed pod; paused", "unhealthy: 1 failed pod"]


@pytest.mark.parametrize(
    ("action", "event"),
    [
        (
            MoveTo(Phase.RESUMING, Reason.RETRY_PAUSE_OVER),
            ("Normal", "RetryPauseOver", "the pause is over; creating its components again"),
        ),
        (
            MoveTo(Phase.SUSPENDING, Reason.SUSPENDING),
            ("Normal", "Suspending", "suspended; deleting its components"),
        ),
        (
            MoveTo(Phase.RESETTING, Reason.FAILED_PODS, "1 failed pods"),
            (
                "Warning",
                "FoundFailedPods",
                "unhealthy; deleting its components before another attempt: 1 failed pods",
            ),
        ),
        (
            MoveTo(Phase.FAILED, Reason.MISSING_COMPONENT, "Job a"),
            ("Warning", "MissingComponent", "failed: Job a"),
        ),
        (Warn(Reason.DELETION_BLOCKED, "2 pods"), ("Warning", "DeletionBlocked", "2 pods")),
        (
            SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, "1 failed pods"),
            ("Warning", "FoundFailedPods", "unhealthy: 1 failed pods"),
        ),
        (
            SetCondition(UNHEALTHY, False, Reason.NO_FAILED_PODS),
            ("Normal", "FoundNoFailedPods", "healthy again"),
        ),
        (
            SetCondition(DEPLOYED, True, Reason.CREATE_FAILED, "forbidden"),
            ("Warning", "CreateFailed", "cannot create its components: forbidden"),
        ),
        (
            SetCondition(PODS_READY, False, Reason.INSUFFICIENT_PODS_READY),
            ("Warning", "InsufficientPodsReady", "not all of its pods run any more"),
        ),
    ],
    ids=lambda each: str(each[1]) if isinstance(each, tuple) else "",
)
def test_each_action_emits_its_event(action: Action, event: tuple[str, str, str]) -> None:
    assert heard_of(action).events == [event]


@pytest.mark.parametrize(
    "action",
    [
        MoveTo(Phase.SUSPENDED, Reason.SUSPENDED),
        MoveTo(Phase.RESUMING, Reason.RESUMING),
        MoveTo(Phase.RUNNING, Reason.DEPLOYED),
        MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED),
        MoveTo(Phase.TERMINATING, Reason.TERMINATING),
        SetCondition(PODS_READY, True, Reason.SUFFICIENT_PODS_READY),
        SetCondition(PODS_READY, False, Reason.RESUMING),
        SetCondition(UNHEALTHY, False, Reason.RESUMING),
        SetCondition(DEPLOYED, True, Reason.DEPLOYED),
        SetCondition(DEPLOYED, False, Reason.DELETION_COMPLETE),
        WakeAfter(ZERO),
    ],
    ids=str,
)
def test_an_expected_change_emits_no_event(action: Action) -> None:
    assert heard_of(action).events == []


def test_when_the_next_attempt_begins_is_no_event_of_its_own() -> None:
    news = SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, "1 failed pod; 1 of 3 retries spent")
    before = [condition(UNHEALTHY, "True", "FoundFailedPods", "1 failed pod")]
    assert heard_of(news, conditions=before, phase="Resetting").events == []
    assert len(heard_of(news, conditions=before).events) == 1
    other = SetCondition(UNHEALTHY, True, Reason.REASSIGNMENT, "asks for other nodes")
    assert len(heard_of(other, conditions=before, phase="Resetting").events) == 1


def test_a_condition_does_not_repeat_the_event_of_the_move() -> None:
    heard = heard_of(
        SetCondition(PODS_READY, False, Reason.INSUFFICIENT_PODS_READY),
        SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, "1 failed pods"),
        MoveTo(Phase.RESETTING, Reason.FAILED_PODS, "1 failed pods"),
    )
    assert [reason for _, reason, _ in heard.events] == ["FoundFailedPods"]
    assert heard.events[0][2].startswith("unhealthy; deleting")


def test_a_warning_replaces_the_event_of_its_condition() -> None:
    heard = heard_of(
        SetCondition(UNHEALTHY, True, Reason.RESETS_PAUSED, "1 failed pods; resets are paused"),
        Warn(Reason.RESETS_PAUSED, "1 failed pods; resets are paused"),
    )
    assert heard.events == [("Warning", "ResetsPaused", "1 failed pods; resets are paused")]


def test_a_fall_of_ready_pods_emits_an_event_only_with_its_reason() -> None:
    heard = heard_of(
        SetCondition(PODS_READY, False, Reason.INSUFFICIENT_PODS_READY),
        SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, "1 failed pods"),
    )
    assert [reason for _, reason, _ in heard.events] == ["FoundFailedPods"]


@pytest.mark.parametrize(
    ("before", "events"),
    [
        pytest.param(condition(UNHEALTHY, "False", "Resuming"), 1, id="it turned True"),
        pytest.param(condition(UNHEALTHY, "True", "InsufficientPodsReady", "m"), 1, id="reason"),
        pytest.param(condition(UNHEALTHY, "True", "FoundFailedPods", "n"), 1, id="message"),
        pytest.param(condition(UNHEALTHY, "True", "FoundFailedPods", "m"), 0, id="nothing"),
        pytest.param(condition(PODS_READY, "True", "FoundFailedPods", "m"), 1, id="another one"),
    ],
)
def test_each_change_of_a_condition_emits_one_event(before: Any, events: int) -> None:
    action = SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, "m")
    assert len(heard_of(action, conditions=[before]).events) == events


def test_readiness_emits_an_event_only_after_a_fall() -> None:
    action = SetCondition(PODS_READY, True, Reason.SUFFICIENT_PODS_READY)
    began = condition(PODS_READY, "False", "Resuming")
    fell = condition(PODS_READY, "False", "InsufficientPodsReady")
    assert heard_of(action, conditions=[began]).events == []
    assert heard_of(action, conditions=[fell]).events == [
        ("Normal", "SufficientPodsReady", "all of its pods run")
    ]


def test_every_problem_is_a_log_line_that_names_its_object(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    heard_of(SetCondition(UNHEALTHY, True, Reason.FAILED_PODS, "1 failed pods"))
    heard_of(SetCondition(UNHEALTHY, False, Reason.NO_FAILED_PODS))
    trouble, healed = caplog.records
    fields = ("namespace", "object_name", "uid", "phase", "reason")
    assert [getattr(trouble, each) for each in fields] == [
        "team1", "train", "u1", "Running", "FoundFailedPods",
    ]  # fmt: skip
    assert (trouble.levelname, trouble.message) == ("WARNING", "unhealthy: 1 failed pods")
    assert (healed.levelname, healed.message) == ("INFO", "healthy again")


def test_the_end_of_a_namespace_takes_no_event_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ending = SetCondition(DEPLOYED, True, Reason.NAMESPACE_ENDING, "its namespace is being deleted")
    assert heard_of(ending).events == []
    assert caplog.messages == ["its namespace is being deleted"]
    namespace_ends = condition(
        DEPLOYED, "True", "NamespaceTerminating", "its namespace is being deleted"
    )
    heard_of(ending, conditions=[namespace_ends])
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(("number", "more"), [(1, ""), (5, ""), (7, " and 2 more")])
def test_unexpected_objects_are_named_in_one_event_at_most_five_of_them(
    number: int, more: str
) -> None:
    heard = Heard()
    recorder: Any = heard
    item = AppWrapper({"metadata": {"namespace": "team1", "name": "train", "uid": "u1"}})
    objects = [DeployedObject(JOBS, f"j{n}", f"u{n}", False, attempt="1") for n in range(number)]
    Teller(recorder, recorder).swept(item, objects)
    named = ", ".join(f"Job j{n} of attempt 1" for n in range(min(number, 5)))
    message = (
        "objects appeared after their attempt had ended, probably by a late create; the controller "
        f"deletes them: {named}{more}"
    )
    assert heard.events == [("Warning", "UnexpectedObjects", message)]
    assert heard.measured == [number]
