"""Colour and folding are for people; a program gets whole lines."""

import io
import re

import pytest
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.terminal import CommandTerminal, harmless

LONG = "word " * 60


class _Window(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, **environment: str) -> str:
    terminal = CommandTerminal(io.StringIO(), stream, io.StringIO(), environment)
    table = Table()
    table.add_column("TEXT", style="red")
    table.add_row(LONG)
    terminal.console().print(table)
    return stream.getvalue()


def test_a_program_gets_no_colour_and_no_folded_line() -> None:
    text = shown(io.StringIO())
    assert "\x1b" not in text
    assert LONG.strip() in text


def test_a_person_gets_colour_in_the_width_of_the_window() -> None:
    text = shown(_Window(), COLUMNS="80", TERM="xterm-256color")
    assert "\x1b[31m" in text
    assert LONG.strip() not in text


def test_no_color_takes_the_colour_away() -> None:
    assert "\x1b[31m" not in shown(_Window(), COLUMNS="80", TERM="xterm", NO_COLOR="1")


def test_columns_sets_the_width_for_a_program_too() -> None:
    assert max(len(line) for line in shown(io.StringIO(), COLUMNS="80").splitlines()) == 80


@pytest.mark.parametrize(("stream", "is_seen"), [(io.StringIO(), False), (_Window(), True)])
def test_only_a_person_sees_what_is_going_on(stream: io.StringIO, is_seen: bool) -> None:
    terminal = CommandTerminal(io.StringIO(), io.StringIO(), stream, {"TERM": "xterm"})
    with terminal.progress("Reading pods"):
        pass
    assert ("Reading pods" in stream.getvalue()) is is_seen


HOSTILE = "a\x1b[2J\x1b]0;title\x07\x9b31m\x7fb"


def test_no_escape_sequence_of_an_object_reaches_the_terminal() -> None:
    stream = _Window()
    terminal = CommandTerminal(
        io.StringIO(), stream, io.StringIO(), {"TERM": "xterm", "COLUMNS": "80"}
    )
    table = Table.grid()
    table.add_row(HOSTILE)
    for each in (HOSTILE, Text(HOSTILE, style="red"), Padding(table, 0, expand=False)):
        terminal.console().print(each)
    words = "a[2J]0;title31mb"
    assert stream.getvalue() == f"{words}\n\x1b[31m{words}\x1b[0m\n{words}\n"


def test_a_warning_is_harmless_and_keeps_its_lines() -> None:
    stream = io.StringIO()
    CommandTerminal(io.StringIO(), io.StringIO(), stream, {}).warn(f"{HOSTILE}\n\tmore")
    assert stream.getvalue() == "warning: a[2J]0;title31mb\n\tmore\n"
    assert harmless("żółw → 日本") == "żółw → 日本"


def test_no_line_ends_with_blanks_in_colour_either() -> None:
    window = _Window()
    terminal = CommandTerminal(io.StringIO(), window, io.StringIO(), {"TERM": "xterm-256color"})
    table = Table(box=None)
    for heading in ("ONE", "TWO"):
        table.add_column(heading, style="red")
    table.add_row("long enough", "x")
    table.add_row("y", "")
    terminal.console().print(table)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", window.getvalue()).splitlines()
    assert lines == [" ONE          TWO", " long enough  x", " y"]
