"""docs/conformance.md names tests that exist, every case of its list, and every rule."""

import ast
import re
from functools import cache

import pytest

from tests.manifests import ROOT
from webhook import chain

PAGE = (ROOT / "docs" / "conformance.md").read_text()
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| (?!---|What |Case )", line)]
NAMED = re.compile(r"`((?:integration|unit)/[^`]*?)::([^`]*)`")


@cache
def names_in(file: str) -> set[str]:
    """The test functions of a file, those of its classes too."""
    return {
        node.name
        for node in ast.walk(ast.parse((ROOT / "tests" / file).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[:5] == "test_"
    }


@pytest.mark.parametrize("row", ROWS)
def test_every_row_names_tests_that_exist(row: str) -> None:
    named = NAMED.findall(row)
    assert named
    assert [each for each in named if each[1] not in names_in(each[0])] == []


def test_every_case_of_the_go_operator_has_its_row() -> None:
    assert re.findall(r"^\| ([0-9]+) \|", PAGE, re.MULTILINE) == [str(n) for n in range(1, 39)]


def test_every_rule_is_shown_by_a_row() -> None:
    rules = {
        chain.rule_name(rule)
        for rules in (
            chain.MUTATE_ON_CREATE,
            chain.MUTATE_ON_UPDATE,
            chain.VALIDATE_ON_CREATE,
            chain.VALIDATE_ON_UPDATE,
            chain.MUTATE_DIRECT_KIND,
            chain.VALIDATE_DIRECT_KIND,
        )
        for rule in rules
    }
    shown = {name for row in ROWS for name in re.findall(r"`([a-z_]+)`", row.split(" | ")[0])}
    assert rules - shown == set()
