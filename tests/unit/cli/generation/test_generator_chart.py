"""The MLBatch chart's results, and ours: equal in meaning, save the differences that docs list.

Each golden file holds values, facts of what chart 1.1.12 made of them (rendered once with Helm
3.19.0), and where this command differs.
"""

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.generation.generator import generate
from cli.generation.value_types import keys_of
from cli.generation.values import Values
from shared.api.objects import JsonObject
from tests.support.builders.generated_jobs import facts
from tests.support.manifests import ROOT

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.yaml"))
# Keys that the chart does not have.
OURS = {
    "terminalExitCodes",
    "retryableExitCodes",
    "unreachableGracePeriodDuration",
    "recorder",
}
TABLE = re.compile(r"^\| \*\*(.+?)\*\* \|", re.M)


def read(file: Path) -> tuple[str, JsonObject]:
    """The values as they are written, and the expectation."""
    values, expectation = file.read_text().split("\n---\n")
    return values, yaml.safe_load(expectation)


def put(target: JsonObject, path: list[str], value: Any) -> None:
    """Set what lies at the path; None removes it."""
    *around, last = path
    for key in around:
        target = target.setdefault(key, {})
    if value is None:
        target.pop(last)
    else:
        target[last] = value


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_the_result_means_the_same_as_the_charts_save_what_is_listed(file: Path) -> None:
    values, expectation = read(file)
    expected = deepcopy(expectation["chart"])
    for each in expectation["differs"]:
        put(expected, each["at"], each["ours"])

    assert facts(generate([("values.yaml", values)], []).appwrapper) == expected


def test_every_key_of_the_chart_is_compared() -> None:
    used = {key for file in GOLDEN for key in yaml.safe_load(read(file)[0])}
    assert used == set(keys_of(Values)) - OURS
    assert len(used) == 43


def test_docs_justify_every_difference() -> None:
    page = (ROOT / "docs" / "users" / "generate.md").read_text()
    justified = set(TABLE.findall(page))
    assert {each["why"] for file in GOLDEN for each in read(file)[1]["differs"]} <= justified
