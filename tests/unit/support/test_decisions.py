"""Decisions as text: the text of an action is complete, and the builders change what they name."""

from typing import get_args

from controller.phases.actions import Action, SetCondition
from controller.phases.snapshot import PodCounts, Timers
from controller.reports.reason import Reason
from tests.support.decisions import JOB, RUNNING, line, lines
from tests.support.moments import NOW, ago
from tests.support.phase_walk import every_decision


def test_different_actions_have_different_texts() -> None:
    """Otherwise a table of decisions would accept another decision than the expected one."""
    actions = {action for _, decided in every_decision() for action in decided}
    assert len({line(action) for action in actions}) == len(actions)
    assert len({type(action) for action in actions}) > len(get_args(Action)) / 2


def test_the_text_of_a_condition_has_all_its_fields() -> None:
    condition = SetCondition("Unhealthy", True, Reason.FAILED_PODS, "a failed", logged="1 failed")
    assert line(condition) == "Unhealthy=True (FoundFailedPods): a failed [logged: 1 failed]"


def test_a_situation_changes_only_what_is_named() -> None:
    changed = RUNNING.pods(running=3).since(failure=5).reported("Unhealthy", "Why", "text").job()
    snapshot = changed.snapshot
    assert snapshot.pods == PodCounts(expected=4, running=3)
    assert snapshot.timers == Timers(failure=ago(5))
    assert snapshot.condition_texts["Unhealthy"].message == "text"
    assert snapshot.components == (JOB,)
    assert changed.but(pods=RUNNING.snapshot.pods, timers=Timers(), condition_texts={}) == RUNNING
    assert ago(-1) > NOW > ago(1)


def test_expected_lines_may_be_indented() -> None:
    assert lines("\n    a\n\n        b: c\n") == ["a", "b: c"]
