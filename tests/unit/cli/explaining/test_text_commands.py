"""The text of `explain` at any width: commands can be copied, and no line ends with blanks."""

import io

import pytest

from cli.explaining.compose import explain
from cli.explaining.text import render
from cli.terminal import CommandTerminal
from tests.support.explain_captures import SITUATIONS


@pytest.mark.parametrize("columns", ["30", "80", "200"])
@pytest.mark.parametrize("name", SITUATIONS)
def test_commands_are_one_line_and_no_line_ends_with_blanks(name: str, columns: str) -> None:
    report = explain(SITUATIONS[name]())
    out = io.StringIO()
    terminal = CommandTerminal(io.StringIO(), out, io.StringIO(), {"COLUMNS": columns})
    terminal.console().print(render(report), crop=False)
    lines = out.getvalue().splitlines()
    assert [each for each in lines if each != each.rstrip()] == []
    assert {f"  {each.command}" for each in report.commands} <= {*lines}
