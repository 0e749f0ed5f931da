"""Numbers and names as people read them."""

import pytest

from shared.waits.words import counted, few, joined, ordinal


def test_lists() -> None:
    assert joined([]) == ""
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert few(["c", "a", "b"]) == "a, b and c"
    assert few(["d", "c", "b", "a"]) == "a, b, c and 1 more"


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd"), (113, "113th")],
)
def test_ordinals(number: int, text: str) -> None:
    assert ordinal(number) == text


def test_counts() -> None:
    assert [counted(1, "pod"), counted(2, "pod"), counted(3, "retry"), counted(1, "retry")] == [
        "1 pod",
        "2 pods",
        "3 retries",
        "1 retry",
    ]
