"""docs/users/annotations.md says of every annotation what the code does."""

import re
from datetime import timedelta
from typing import Any

import pytest
import yaml

from shared.annotations import MOST_RETRIES, PERIODS, STRATEGIES, TABLE, Annotation, Period
from shared.api.times import format_duration
from shared.config.fault_tolerance import FaultToleranceConfig
from tests.support.builders.admission import errors_of, patch_of, warnings_of
from tests.support.builders.annotations import PREFIX
from tests.support.manifests import ROOT

PAGE = (ROOT / "docs" / "users" / "annotations.md").read_text()
CONFIG = FaultToleranceConfig()


def rows_below(heading: str) -> dict[str, list[str]]:
    """The first cell without its quotes -> the others."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", section, re.MULTILINE)
    return {name: cells.split(" | ") for name, cells in rows}


ROWS = rows_below("Annotations of the AppWrapper (`metadata.annotations`)")


def test_every_annotation_has_a_row_and_every_row_an_annotation() -> None:
    assert set(ROWS) == {each.name for each in TABLE}


@pytest.mark.parametrize("annotation", TABLE, ids=lambda each: each.name)
def test_defaults(annotation: Annotation[Any]) -> None:
    default = annotation.default(CONFIG)
    text = format_duration(default) if isinstance(default, timedelta) else str(default or "none")
    assert ROWS[annotation.name][0] == text


@pytest.mark.parametrize("period", PERIODS, ids=lambda each: each.name)
def test_limits_of_periods(period: Period) -> None:
    limit = format_duration(period.limit(CONFIG))
    values = f"0s to {limit}" if period.may_be_zero else f"above 0s, to {limit}"
    assert ROWS[period.name][1] == values


def test_other_limits() -> None:
    assert ROWS["retryLimit"][1] == f"0 to {MOST_RETRIES}"
    assert ROWS["errorAggregation"][1] == ", ".join(f"`{each}`" for each in STRATEGIES)


def test_the_example_gets_in_without_a_warning() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    made = yaml.safe_load(example[1])
    made["metadata"]["namespace"] = "team1"
    assert errors_of(made) == []
    assert warnings_of(made) == []
    ttl = f"{PREFIX}successTTLDuration".replace("/", "~1")
    assert {"op": "add", "path": f"/metadata/annotations/{ttl}", "value": "48h"} in patch_of(made)
