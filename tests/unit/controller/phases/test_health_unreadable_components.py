"""A component that cannot be read: said once, and no reason to end anything."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from controller.phases import decide
from controller.phases.actions import (
    DeleteComponents,
    DeletionMode,
    MoveTo,
    Reason,
    SetCondition,
    WakeAfter,
)
from controller.phases.deletion import LOOK_AGAIN
from controller.phases.health import NAMESPACE_ENDING
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    ConditionText,
    PodCounts,
    Presence,
    Snapshot,
    Timers,
)
from controller.reports.resources_deployed import ComponentsUnreadable
from tests.support.decisions import CONFIG
from tests.support.moments import NOW

DEPLOYED = "ResourcesDeployed"
HIDDEN = Component(
    name="train", kind="Job", presence=Presence.UNKNOWN, expected_pods=2, unreadable="403 no"
)
UNREADABLE_TEXT = "cannot be read: Job train: 403 no"
UNREADABLE = Reason.COMPONENT_UNREADABLE


def running(*components: Component, **fields: Any) -> Snapshot:
    values = {
        "phase": Phase.RUNNING,
        "finalizer": True,
        "conditions": frozenset({"QuotaReserved", DEPLOYED, "PodsReady"}),
        "components": components,
        "pods": PodCounts(expected=2, running=2),
    }
    return Snapshot(**{**values, **fields})


def test_a_running_appwrapper_keeps_running_and_reports_the_unreadable_component() -> None:
    actions = decide(running(HIDDEN), NOW, CONFIG)
    assert actions == (SetCondition(DEPLOYED, True, UNREADABLE, UNREADABLE_TEXT),)


def test_during_the_end_of_its_namespace_only_that_is_reported() -> None:
    assert decide(running(HIDDEN, namespace_ending=True), NOW, CONFIG) == NAMESPACE_ENDING


def test_it_is_reported_once_for_any_message_of_the_server() -> None:
    texts = {DEPLOYED: ConditionText(UNREADABLE, UNREADABLE_TEXT)}
    written = {DEPLOYED: ComponentsUnreadable(components=("Job train",), why="403 no")}
    other = replace(HIDDEN, unreadable="500 boom")
    assert decide(running(other, condition_texts=texts, reported=written), NOW, CONFIG) == ()
    both = (HIDDEN, replace(HIDDEN, name="eval"))
    assert decide(running(*both, condition_texts=texts, reported=written), NOW, CONFIG) == (
        SetCondition(DEPLOYED, True, UNREADABLE, "cannot be read: Job train, Job eval: 403 no"),
    )


def test_after_a_restart_another_message_of_the_server_is_written_once() -> None:
    texts = {DEPLOYED: ConditionText(UNREADABLE, UNREADABLE_TEXT)}
    assert decide(running(HIDDEN, condition_texts=texts), NOW, CONFIG) == ()
    other = replace(HIDDEN, unreadable="500 boom")
    assert decide(running(other, condition_texts=texts), NOW, CONFIG) == (
        SetCondition(DEPLOYED, True, UNREADABLE, "cannot be read: Job train: 500 boom"),
    )


def test_many_are_not_all_named_and_no_answer_is_too_long() -> None:
    many = [replace(HIDDEN, name=str(number), unreadable="x" * 9000) for number in range(5)]
    (report,) = decide(running(*many), NOW, CONFIG)
    assert isinstance(report, SetCondition)
    assert report.message == f"cannot be read: Job 0, Job 1, Job 2 and 2 more: {'x' * 400}"


def test_it_is_over_when_it_can_be_read() -> None:
    texts = {DEPLOYED: ConditionText(UNREADABLE, UNREADABLE_TEXT)}
    seen = replace(HIDDEN, presence=Presence.PRESENT, unreadable="")
    assert decide(running(seen, condition_texts=texts), NOW, CONFIG) == (
        SetCondition(DEPLOYED, True, Reason.DEPLOYED),
    )


def test_failed_pods_of_an_unreadable_component_are_reset() -> None:
    failed = PodCounts(expected=2, running=1, failed=1, failed_named="train-1")
    late = Timers(failure=NOW - timedelta(hours=1))
    actions = decide(running(HIDDEN, pods=failed, timers=late), NOW, CONFIG)
    move = next(each for each in actions if isinstance(each, MoveTo))
    assert (move.phase, move.reason) == (Phase.RESETTING, Reason.FAILED_PODS)
    assert all(getattr(each, "reason", None) is not UNREADABLE for each in actions)


def test_an_unreadable_component_of_another_operator_is_not_created_again() -> None:
    begun = running(HIDDEN, phase=Phase.RESUMING, planned=False, pod_set_infos="absent")
    assert decide(begun, NOW, CONFIG) == (
        SetCondition(DEPLOYED, True, UNREADABLE, UNREADABLE_TEXT),
        WakeAfter(LOOK_AGAIN),
    )


def test_its_pods_are_not_forced_as_it_would_make_new_ones() -> None:
    began = Timers(forceful_deletion=NOW - timedelta(hours=1))
    conditions = frozenset({"QuotaReserved", DEPLOYED, "DeletingResources"})
    stuck = running(
        HIDDEN, phase=Phase.SUSPENDING, timers=began, conditions=conditions, labelled_pods=2
    )
    assert modes(decide(stuck, NOW, CONFIG)) == [
        DeletionMode.FORCE_COMPONENTS,
        DeletionMode.BACKGROUND_EMPTY,
    ]
    seen = replace(stuck, components=(replace(HIDDEN, presence=Presence.DELETING),))
    assert modes(decide(seen, NOW, CONFIG)) == [DeletionMode.FORCE_PODS]


def modes(actions: Any) -> list[DeletionMode]:
    return [each.mode for each in actions if isinstance(each, DeleteComponents)]
