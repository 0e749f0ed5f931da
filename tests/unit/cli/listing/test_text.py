"""The table: whole for programs, one line a row at any width for people."""

import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from rich.cells import cell_len

from cli.listing.text import AppendedLines, table
from tests.support.builders.explained.objects import NOW
from tests.support.builders.listed import made

WHY = "insufficient unused quota for nvidia.com/gpu in flavor default-flavor, 12 more needed"
ALICE: dict[str, Any] = {
    "user": "alice",
    "queue": "default-queue",
    "gpus": Decimal(16),
    "priority": 5,
}
WAITS = made("llama-sft", **ALICE, position=2, why=WHY, created=NOW - timedelta(minutes=10))
RUNS = made("mnist", **{**ALICE, "gpus": Decimal(8), "status": "Running"}, attempt=2, retries=1)
WHOLE = f"""\
NAME       USER   STATUS     GPUS  PRIORITY  QUEUE          POSITION  AGE  WHY
llama-sft  alice  Suspended    16         5  default-queue         2  10m  {WHY}
mnist      alice  Running       8         5  default-queue         -   0s
"""


def test_a_program_gets_every_text_whole() -> None:
    assert table([WAITS, RUNS], NOW) == WHOLE
    assert table([WAITS, RUNS], NOW, width=200) == WHOLE


def test_80_columns_hold_the_table() -> None:
    assert table([WAITS, RUNS], NOW, width=80) == (
        "NAME       USER   STATUS     GPUS  PRIO  POS  AGE  WHY\n"
        "llama-sft  alice  Suspended    16     5    2  10m  insufficient unused quota fo…\n"
        "mnist      alice  Running       8     5    -   0s\n"
    )


def test_a_queue_that_differs_is_cut() -> None:
    other = made("other", **{**ALICE, "queue": "preemptible-queue"}, why=WHY)
    assert table([WAITS, other], NOW, width=80) == (
        "NAME       USER   STATUS     GPUS  PRIO  QUEUE     POS  AGE  WHY\n"
        "llama-sft  alice  Suspended    16     5  default…    2  10m  insufficient unuse…\n"
        "other      alice  Suspended    16     5  preempt…    -   0s  insufficient unuse…\n"
    )


def test_wide_cuts_nothing_and_has_more() -> None:
    assert table([WAITS, RUNS], NOW, wide=True, width=80).splitlines()[::2] == [
        "NAMESPACE  NAME       USER   STATUS     GPUS  PRIORITY  QUEUE          POSITION  AGE"
        "  ATTEMPT  RETRIES  WHY",
        "team1      mnist      alice  Running       8         5  default-queue         -   0s"
        "        2  1",
    ]


def test_several_namespaces_are_a_column() -> None:
    assert table([RUNS], NOW, namespaces=True).startswith("NAMESPACE  NAME ")


HOSTILE = made("a\x1b[2J", user="b\nc", why="日本語" * 40, status="")


def test_control_characters_and_line_ends_are_gone() -> None:
    text = table([HOSTILE], NOW)
    assert "\x1b" not in text
    assert text.splitlines()[1].split()[:4] == ["a[2J", "b", "c", "-"]


@pytest.mark.parametrize("width", [1, 2, 7, 20, 40, 60, 79, 80, 100, 132])
def test_no_line_wraps_or_ends_with_a_blank(width: int) -> None:
    chance = random.Random(width)
    rows = [
        made(
            "n" * chance.randint(1, 63),
            user="u" * chance.randint(0, 63),
            queue="q" * chance.randint(0, 63),
            namespace="s" * chance.randint(1, 63),
            gpus=Decimal(chance.randint(0, 10**6)),
            position=chance.choice([None, 10_000]),
            why=chance.choice(["", WHY, "日本語" * 40]),
        )
        for _ in range(8)
    ]
    for chosen in (rows, [HOSTILE], [*rows[:1], *rows[:1]]):
        lines = table(chosen, NOW, namespaces=True, width=width).splitlines()
        assert len(lines) == len(chosen) + 1
        assert [line for line in lines if cell_len(line) > width or line != line.rstrip()] == []


def test_appended_lines_have_one_heading_and_keep_their_columns() -> None:
    lines = AppendedLines()
    assert lines.of([WAITS], NOW) == "".join(WHOLE.splitlines(keepends=True)[:2])
    assert lines.of([RUNS], NOW) == WHOLE.splitlines(keepends=True)[2]
