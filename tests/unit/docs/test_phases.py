"""docs/users/phases.md draws what is decided: its diagrams and its table of conditions."""

import re

import pytest

from controller.phases.phase import EDGES, Phase
from shared.api.names import CONDITION_QUOTA_RESERVED
from tests.support.manifests import ROOT
from tests.support.phase_reach import Reach, explore

PAGE = (ROOT / "docs" / "users" / "phases.md").read_text()
# The phases between Kueue's admission and the end, which can be suspended.
ADMITTED = [phase for phase in Phase if Phase.SUSPENDING in EDGES[phase]]
LIFE, RETRIES = 0, 1
WITHOUT_DELETION = {
    (phase, target) for phase in Phase for target in EDGES[phase] if target is not Phase.TERMINATING
}


@pytest.fixture(scope="module")
def reach() -> Reach:
    return explore()


def diagram(number: int) -> list[str]:
    blocks = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE, re.DOTALL)
    return [line.strip() for line in blocks[number].splitlines()]


def edges(number: int) -> set[tuple[Phase, Phase]]:
    """As drawn, with each of the admitted phases for the box around them."""
    lines = diagram(number)
    named = (re.match(r"(\w+) : (\w+)$", line) for line in lines)
    names = {match[1]: match[2] for match in named if match}
    drawn = set()
    for line in lines:
        if not (match := re.match(r"(\S+) --> (\S+)", line)):
            continue
        source, target = match.groups()
        sources = ADMITTED if source == "ad" else [Phase(names.get(source, ""))]
        if target == "ad":
            continue  # by what the box itself begins with
        drawn |= {(each, Phase(names[target])) for each in sources}
    if number == LIFE:
        assert "sp --> ad" in lines
        assert "[*] --> ad" in lines
        drawn |= {(Phase.SUSPENDED, Phase.RESUMING)}
    return drawn


def test_the_life_has_every_edge_but_those_of_a_deletion() -> None:
    assert edges(LIFE) == WITHOUT_DELETION


def test_the_box_around_the_admitted_phases_has_no_other_and_is_blue() -> None:
    lines = diagram(LIFE)
    begin = lines.index("state ad {")
    inside = [line for line in lines[begin + 1 : lines.index("}", begin)] if " : " in line]
    assert [line.split()[2] for line in inside] == ADMITTED
    blue = [line.split()[1] for line in lines if line.endswith(" admitted")]
    assert blue == [line.split()[0] for line in inside]


def test_retries_have_every_edge_between_admission_and_the_end() -> None:
    among = {*ADMITTED, Phase.SUCCEEDED, Phase.FAILED}
    assert edges(RETRIES) == {edge for edge in WITHOUT_DELETION if set(edge) <= among}


def test_phases_coloured_as_holding_quota_hold_it(reach: Reach) -> None:
    coloured = {line.split()[1] for line in diagram(RETRIES) if line.endswith(" quota")}
    short = {"rs": Phase.RESUMING, "rn": Phase.RUNNING, "rt": Phase.RESETTING}
    assert coloured - {"quota"} == set(short)
    for phase in (*short.values(), Phase.SUSPENDING):
        assert all(CONDITION_QUOTA_RESERVED in true for true in reach.conditions_in(phase))


def test_every_phase_is_reached(reach: Reach) -> None:
    assert {state.phase for state in reach.states} == set(Phase)


def test_every_reason_that_a_decision_gives_a_condition_is_on_the_admins_page(reach: Reach) -> None:
    table = (ROOT / "docs" / "admins" / "conditions-and-events.md").read_text()
    rows = re.findall(r"^\| (\w+) \| (True|False) \| `(\w+)` \|", table, re.MULTILINE)
    assert reach.reported <= {(kind, status == "True", reason) for kind, status, reason in rows}


def test_the_table_shows_which_conditions_are_true(reach: Reach) -> None:
    """It shows yes, no, or · where both are possible."""
    table = PAGE.split("## Which conditions are True")[1].split("\n## ")[0]
    head, _, *rows = [line.strip("| ").split(" | ") for line in table.splitlines() if "|" in line]
    assert [row[0] for row in rows] == [phase or "(none)" for phase in Phase]
    true_in_any = {each for state in reach.states for each in state.conditions}
    assert sorted(head[2:]) == sorted(true_in_any)
    for phase, row in zip(Phase, rows, strict=True):
        sets = reach.conditions_in(phase)
        possible = [{condition in true for true in sets} for condition in head[2:]]
        marks = ["·" if len(each) == 2 else "yes" if True in each else "no" for each in possible]
        assert row[2:] == marks, phase
