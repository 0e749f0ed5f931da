"""The pages of conformance name tests that exist, and leave nothing of their lists out."""

import ast
import re
from functools import cache
from typing import Any

import pytest

from controller.phases.phase import EDGES
from controller.reports.reason import Reason
from tests.support.admission_corpus.table import CASES
from tests.support.manifests import ROOT
from tests.support.root_cause_cases.case import Case
from tests.support.root_cause_cases.table import CASES as ROOT_CAUSES
from webhook import chain


class Page:
    """The rows of one page's tables, each as its text stands there."""

    def __init__(self, name: str) -> None:
        self.text = (ROOT / "docs" / "maintainers" / name).read_text()
        lines = self.text.splitlines()
        self.rows = [line for line in lines if re.match(r"\| (?!---|Promise |Case )", line)]

    @property
    def cases(self) -> list[str]:
        return re.findall(r"^\| ([0-9]+) \|", self.text, re.MULTILINE)

    def shown(self, pattern: str) -> set[Any]:
        """What the rows say that they show: each match, before the last column."""
        labels = (row.rpartition(" | ")[0] for row in self.rows)
        return {match for text in labels for match in re.findall(pattern, text)}


WEBHOOK = Page("conformance.md")
CONTROLLER = Page("conformance-controller.md")
NAMED = re.compile(r"`((?:e2e|integration|simulation|unit)/[^`]*?)::([^`]*)`")

CASE = re.compile("`corpus: ([^`]+)`")
CAUSE = re.compile("`root cause: ([^`]+)`")


@cache
def names_in(file: str) -> set[str]:
    """The test functions of a file, those of its classes too."""
    return {
        node.name
        for node in ast.walk(ast.parse((ROOT / "tests" / file).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[:5] == "test_"
    }


@pytest.mark.parametrize("row", [*WEBHOOK.rows, *CONTROLLER.rows])
def test_every_row_names_tests_that_exist(row: str) -> None:
    last = row.rpartition(" | ")[2]
    named, begun, causes = NAMED.findall(last), CASE.findall(last), CAUSE.findall(last)
    assert named + begun + causes
    assert [each for each in named if each[1] not in names_in(each[0])] == []
    assert [each for each in begun if not any(case.name.startswith(each) for case in CASES)] == []
    assert [each for each in causes if not root_causes(each)] == []


def root_causes(begun: str) -> list[Case]:
    """The cases of root causes whose names begin so. integration/shared tries them."""
    return [each for each in ROOT_CAUSES if each.name.startswith(begun)]


def test_every_case_of_the_go_operator_has_its_row() -> None:
    assert WEBHOOK.cases == [str(n) for n in range(1, 39)]
    cases = [int(case) for case in CONTROLLER.cases]
    assert cases[:37] == [*range(39, 76)]
    assert cases == sorted(set(cases)), "those of Kueue's side, as far as they are tested here"


def test_every_rule_is_shown_by_a_row() -> None:
    rules = {
        *chain.MUTATE_ON_CREATE,
        *chain.MUTATE_ON_UPDATE,
        *chain.VALIDATE_ON_CREATE,
        *chain.WARN_ON_CREATE,
        *chain.VALIDATE_ON_UPDATE,
        *chain.WARN_ON_UPDATE,
        *chain.MUTATE_DIRECT_KIND,
        *chain.VALIDATE_DIRECT_KIND,
    }
    assert rules - WEBHOOK.shown(r"`([a-z_]+)`") == set()


def test_every_reason_is_shown_by_a_row() -> None:
    assert {reason.value for reason in Reason} - CONTROLLER.shown(r"`([A-Z]\w+)`") == set()


def test_every_edge_between_phases_is_shown_by_a_row() -> None:
    drawn = {(before.value, after.value) for before in EDGES for after in EDGES[before]}
    shown = CONTROLLER.shown(r"(?:no phase|`(\w+)`) → `(\w+)`")
    assert shown == drawn


@cache
def definitions(file: str) -> dict[str, ast.AST]:
    """Returns the functions and constants of a test module, by name."""
    found: dict[str, ast.AST] = {}
    for node in ast.walk(ast.parse((ROOT / "tests" / file).read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, value)
            case _:
                pass
    return found


def texts_of(file: str, test: str) -> set[object]:
    """Returns the literals of a test, and of the functions and constants of its module it uses."""
    texts: set[object] = set()
    left, seen = [test], {test}
    while left:
        for node in ast.walk(definitions(file)[left.pop()]):
            if isinstance(node, ast.Constant):
                texts.add(node.value)
            if isinstance(node, ast.Name) and node.id in definitions(file) and node.id not in seen:
                seen.add(node.id)
                left.append(node.id)
    return texts


@pytest.mark.parametrize("reason", [*Reason])
def test_every_reason_is_in_a_test_of_the_real_controller_that_its_row_names(
    reason: Reason,
) -> None:
    rows = [row for row in CONTROLLER.rows if f"`{reason}`" in row.rpartition(" | ")[0]]
    named = [each for row in rows for each in NAMED.findall(row) if each[0][:5] != "unit/"]
    causes = [each for row in rows for begun in CAUSE.findall(row) for each in root_causes(begun)]
    found = [each for each in named if reason.value in texts_of(*each)]
    assert found or [each for each in causes if reason.value in repr(each)]


def test_every_edge_is_taken_by_the_real_controller() -> None:
    """On a real control plane, or in virtual time."""
    rows = [row for row in CONTROLLER.rows if "→" in row]
    lives = ("`integration/", "`simulation/")
    assert [row for row in rows if not any(each in row for each in lives)] == []
