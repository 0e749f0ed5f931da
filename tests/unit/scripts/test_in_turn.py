import sys
from pathlib import Path

import pytest

from scripts.in_turn import commands, main


def test_commands_are_what_stands_between_the_separators() -> None:
    assert list(commands(["a", "b", "--", "c"])) == [["a", "b"], ["c"]]
    assert list(commands([])) == []


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


@pytest.mark.parametrize(("first", "second", "worst"), [(0, 0, 0), (3, 0, 3), (0, 4, 4), (5, 1, 5)])
def test_each_is_run_and_the_worst_code_counts(
    tmp_path: Path, first: int, second: int, worst: int
) -> None:
    def leaves(name: str, code: int) -> list[str]:
        return python(f"open({str(tmp_path / name)!r}, 'x').close(); raise SystemExit({code})")

    assert main([*leaves("a", first), "--", *leaves("b", second)]) == worst
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


def test_after_one_that_was_interrupted_nothing_is_begun(tmp_path: Path) -> None:
    interrupted = python("raise SystemExit(130)")
    begun = python(f"open({str(tmp_path / 'b')!r}, 'x').close()")
    assert main([*interrupted, "--", *begun]) == 130
    assert list(tmp_path.iterdir()) == []
