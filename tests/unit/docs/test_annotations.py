"""docs/annotations.md says of every annotation what the code does."""

import re

import pytest
import yaml

from shared.annotations import KEYS, PERIODS, RETRY_LIMIT, STRATEGIES, Period
from shared.api.times import format_duration
from shared.config.fault_tolerance import FaultTolerance
from tests.support.builders.admission import errors_of, patch_of, warnings_of
from tests.support.builders.annotations import PREFIX
from tests.support.manifests import ROOT

PAGE = (ROOT / "docs" / "annotations.md").read_text()
CONFIG = FaultTolerance()


def rows_below(heading: str) -> dict[str, list[str]]:
    """The first cell without its quotes -> the others."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", section, re.MULTILINE)
    return {name: cells.split(" | ") for name, cells in rows}


ROWS = rows_below("Of the AppWrapper (`metadata.annotations`)")


def test_every_annotation_has_a_row_and_every_row_an_annotation() -> None:
    assert {PREFIX + name for name in ROWS} == set(KEYS)


@pytest.mark.parametrize("period", PERIODS, ids=lambda each: each.key)
def test_defaults_and_limits_of_periods(period: Period) -> None:
    limit = format_duration(period.limit(CONFIG))
    values = f"0s to {limit}" if period.may_be_zero else f"above 0s, to {limit}"
    default, shown, _ = ROWS[period.key.removeprefix(PREFIX)]
    assert (default, shown) == (format_duration(period.default(CONFIG)), values)


def test_other_defaults() -> None:
    assert ROWS[RETRY_LIMIT.removeprefix(PREFIX)][0] == str(CONFIG.retry_limit)
    assert ROWS["errorAggregation"][:2] == [
        CONFIG.error_aggregation.strategy,
        ", ".join(f"`{each}`" for each in STRATEGIES),
    ]


def test_the_example_gets_in_without_a_warning() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    made = yaml.safe_load(example[1])
    made["metadata"]["namespace"] = "team1"
    assert errors_of(made) == []
    assert warnings_of(made) == []
    ttl = f"{PREFIX}successTTLDuration".replace("/", "~1")
    assert {"op": "add", "path": f"/metadata/annotations/{ttl}", "value": "48h"} in patch_of(made)
