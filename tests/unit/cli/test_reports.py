"""Reports become JSON and YAML, whatever they hold."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum

import pytest
import yaml

from cli.reports import as_json, to_text


class _Colour(StrEnum):
    RED = "Red"


@dataclass(frozen=True)
class _Part:
    gpu_hours: Decimal


@dataclass(frozen=True)
class _Report:
    began_at: datetime
    grace_left: timedelta | None
    colour: _Colour
    parts: tuple[_Part, ...]
    by_name: dict[str, int]
    nothing: str | None = None


REPORT = _Report(
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    timedelta(seconds=90),
    _Colour.RED,
    (_Part(Decimal("1.5")), _Part(Decimal(2))),
    {"a": 1},
)
EXPECTED = {
    "beganAt": "2026-01-02T03:04:05Z",
    "graceLeft": 90.0,
    "colour": "Red",
    "parts": [{"gpuHours": 1.5}, {"gpuHours": 2}],
    "byName": {"a": 1},
}


def test_fields_become_keys_in_camel_case_and_none_is_left_out() -> None:
    assert as_json(REPORT) == EXPECTED


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_the_text_reads_as_the_same(output: str, read: object) -> None:
    assert callable(read)
    text = to_text(as_json(REPORT), output)
    assert text.endswith("\n")
    assert read(text) == EXPECTED


def test_values_outside_json_are_refused() -> None:
    with pytest.raises(TypeError, match="a report holds a object, which has no place in JSON"):
        as_json(object())


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_no_control_character_is_printed_as_it_is(output: str) -> None:
    found = {"message": "a\x1b[2J\x9b31m\x7fb"}
    text = to_text(found, output)
    assert not {*text} & {*"\x1b\x9b\x7f"}
    assert yaml.safe_load(text) == found
