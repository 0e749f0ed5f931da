"""Every reason says something that happens, and what it means."""

import ast
from pathlib import Path

import controller
from controller.phases.actions import MoveTo, SetCondition, Warn
from controller.reports.reason import Reason
from tests.support.phase_walk import every_decision

# Of one component's conditions, which `decide` has no words for: apply/status.py writes them.
OF_COMPONENTS = {Reason.CREATION_INITIATED, Reason.CREATED, Reason.DELETED, Reason.ENDED_WELL}
# Of Events beside those: apply/events.py writes them.
OF_EVENTS = {Reason.ROOT_CAUSE, Reason.NON_RECOVERABLE, Reason.UNEXPECTED}


def test_every_other_reason_is_that_of_some_decision() -> None:
    decided = {
        action.reason
        for _, actions in every_decision()
        for action in actions
        if isinstance(action, MoveTo | SetCondition | Warn)
    }
    assert decided == set(Reason) - OF_COMPONENTS - OF_EVENTS


def test_those_of_components_are_written_by_the_status() -> None:
    file = Path(controller.__file__).parent / "apply" / "status.py"
    assert used_in(file) >= {reason.name for reason in OF_COMPONENTS}


def test_reasons_of_events_are_documented() -> None:
    file = Path(controller.__file__).parent / "apply" / "events.py"
    assert used_in(file) >= {reason.name for reason in OF_EVENTS}


def test_each_has_a_value_of_its_own_and_a_meaning() -> None:
    assert len({reason.value for reason in Reason}) == len(Reason)
    assert len({reason.meaning for reason in Reason}) == len(Reason)
    for reason in Reason:
        assert reason == Reason(reason.value)
        assert f"{reason}" == reason.value
        assert reason.value[0].isupper()
        assert reason.meaning[0].islower()
        assert not reason.meaning.endswith(".")


def used_in(file: Path) -> set[str]:
    return {
        node.attr
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Reason"
    }
