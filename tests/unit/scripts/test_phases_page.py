"""docs/users/phases.md draws what is decided, and says all of it."""

import re
from functools import cache

import pytest

from controller.phases.phase import EDGES, Phase
from controller.reports.reason import Reason
from scripts.phase_reach import Reach, explore
from scripts.phases_page import ADMITTED, phases_page
from shared.api.names import CONDITION_QUOTA_RESERVED
from tests.support.manifests import ROOT

LIFE, RETRIES = 0, 1
WITHOUT_DELETION = {
    (phase, target) for phase in Phase for target in EDGES[phase] if target is not Phase.TERMINATING
}


@pytest.fixture(scope="module")
def reach() -> Reach:
    return explore()


@cache
def page() -> str:
    return phases_page()


def diagram(number: int) -> list[str]:
    blocks = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", page(), re.DOTALL)
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
        drawn -= {(Phase.EMPTY, Phase.RESUMING)}
        drawn |= {(Phase.SUSPENDED, Phase.RESUMING)}
    return drawn


def test_the_life_has_every_edge_but_those_of_a_deletion() -> None:
    assert edges(LIFE) == WITHOUT_DELETION


def test_retries_have_every_edge_between_admission_and_the_end() -> None:
    among = {*ADMITTED, Phase.SUCCEEDED, Phase.FAILED}
    assert edges(RETRIES) == {edge for edge in WITHOUT_DELETION if set(edge) <= among}


@pytest.mark.parametrize(
    "line",
    [
        "rn --> s",
        "rn --> f : Retries Exceeded",
        "rn --> rt : Workload Unhealthy",
        "rt --> rs : All Resources Removed",
        "rs --> rn : All Resources Recreated",
        "classDef quota fill:lightblue",
        "class rs quota",
        "class rn quota",
        "class rt quota",
        "classDef failed fill:pink",
        "class f failed",
        "classDef succeeded fill:lightgreen",
        "class s succeeded",
    ],
)
def test_retries_are_labelled_and_coloured_as_users_know_them(line: str) -> None:
    assert line in diagram(RETRIES)


@pytest.mark.parametrize(
    "line",
    [
        *("[*] --> sp", "sp --> ad", "[*] --> rs", "rs --> rn", "rn --> rt", "rt --> rs"),
        *("rn --> s", "ad --> su", "su --> sp", "class rs admitted", "class rn admitted"),
        *("class rt admitted", "class f failed", "class s succeeded"),
    ],
)
def test_the_life_is_drawn_as_users_know_it(line: str) -> None:
    assert line in diagram(LIFE)


def test_phases_coloured_as_holding_quota_hold_it(reach: Reach) -> None:
    coloured = {line.split()[1] for line in diagram(RETRIES) if line.endswith(" quota")}
    short = {"rs": Phase.RESUMING, "rn": Phase.RUNNING, "rt": Phase.RESETTING}
    assert coloured - {"quota"} == set(short)
    for phase in (*short.values(), Phase.SUSPENDING):
        assert all(CONDITION_QUOTA_RESERVED in true for true in reach.conditions_in(phase))


def test_every_phase_is_reached_and_every_reason_is_explained(reach: Reach) -> None:
    assert {state.phase for state in reach.states} == set(Phase)
    table = page().split("## Reasons")[1]
    assert re.findall(r"^\| `(\w+)` \| .+ \|$", table, re.MULTILINE) == [
        each.value for each in Reason
    ]


def test_every_reason_that_a_decision_gives_a_condition_is_on_the_admins_page(reach: Reach) -> None:
    table = (ROOT / "docs" / "admins" / "conditions-and-events.md").read_text()
    rows = re.findall(r"^\| (\w+) \| (True|False) \| `(\w+)` \|", table, re.MULTILINE)
    assert reach.reported <= {(kind, status == "True", reason) for kind, status, reason in rows}


@pytest.mark.parametrize(
    ("phase", "marks"),
    [
        ("(none)", "no no no no no"),
        ("Suspended", "no no no no no"),
        ("Resuming", "yes yes no · no"),
        ("Running", "yes yes · · no"),
        ("Resetting", "yes · no yes ·"),
        ("Suspending", "yes · · · yes"),
        ("Succeeded", "no · · no ·"),
        ("Failed", "· · · yes ·"),
        ("Terminating", "· · · · yes"),
    ],
)
def test_which_conditions_are_true(phase: str, marks: str) -> None:
    """Quota, resources, pods ready, unhealthy, deleting."""
    row = next(line for line in page().splitlines() if line.startswith(f"| {phase} | "))
    assert row.split(" | ")[2:] == [*marks.split()[:-1], f"{marks.split()[-1]} |"]
