"""What an unquoted scalar means to kubectl."""

import pytest

from cli.manifests.scalars import ScalarError, plain_value, tagged_value
from shared.api.objects import JsonValue
from webhook.rules.json_patch import is_identical

# tests/integration/shared/test_pack_and_validate.py has kubectl itself read all of these.
MEANT: dict[str, JsonValue] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "OFF"), False),
    **dict.fromkeys(("~", "null", "Null", "NULL"), None),
    **{"yEs": "yEs", "nULL": "nULL", "TrUE": "TrUE", "text": "text", "v1": "v1"},
    **{"0": 0, "-0": 0, "12": 12, "+12": 12, "-12": -12, "1_000": 1000, "08": 8, "09.5": 9.5},
    **{"0777": 511, "0o777": 511, "-0777": -511, "0x1F": 31, "0b101": 5, "-0b101": -5},
    **{"9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63)},
    **{"18446744073709551615": float(2**64), "1.0": 1, "1e3": 1000, "1E-1": 0.1, "1.5": 1.5},
    **{".5": 0.5, "-.5": -0.5, "1.": 1, "1e": "1e", "0x": "0x", "0xg": "0xg", "1__0": 10},
    **{"1:30": "1:30", "190:20:30": "190:20:30", "2026-01-02": "2026-01-02"},
    **{"2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z", "1.2.3": "1.2.3", "+": "+", ".": "."},
    **{"500m": "500m", "1Gi": "1Gi", "12e03": 12000, "1e400x": "1e400x", "=": "="},
}


@pytest.mark.parametrize("text", MEANT)
def test_an_unquoted_scalar(text: str) -> None:
    assert is_identical(plain_value(text), MEANT[text])


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".NAN", "1e999"])
def test_values_that_json_cannot_contain(text: str) -> None:
    with pytest.raises(ScalarError):
        plain_value(text)


def test_no_number_is_so_long_that_reading_it_takes_long() -> None:
    assert plain_value("1" * 100_000) == "1" * 100_000


def test_the_tag_of_a_text() -> None:
    assert tagged_value("tag:yaml.org,2002:str", "1") == "1"


@pytest.mark.parametrize("tag", ["tag:yaml.org,2002:binary", "tag:yaml.org,2002:int", "!mine"])
def test_another_tag_is_refused(tag: str) -> None:
    with pytest.raises(ScalarError, match="leave it out, or quote"):
        tagged_value(tag, "text")
