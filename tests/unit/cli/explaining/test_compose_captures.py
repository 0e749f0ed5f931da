"""What docs/users shows of explain is what the command prints, in every situation."""

import re
import shlex
from pathlib import Path

import pytest

from cli.explaining.compose import explain
from cli.explaining.report import Situation
from cli.main import build_parser
from tests.support.explain_captures import (
    FOLDER,
    PAGE,
    SITUATIONS,
    captures,
    page,
)

STALE = "run `make generate`"


def test_the_page_has_a_table_of_situations() -> None:
    assert "<!-- situations -->\n| `situation` | How it comes about |" in PAGE.read_text()


def test_the_page_shows_captures_and_situations_as_they_are() -> None:
    text = PAGE.read_text()
    assert page(text) == text, STALE


CAPTURES = captures()


@pytest.mark.parametrize("file", CAPTURES, ids=lambda file: file.name)
def test_each_capture_is_fresh(file: Path) -> None:
    assert file.read_text() == CAPTURES[file], STALE


def test_the_commands_that_the_page_shows_are_understood() -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(commands) == 6
    for program, *words in commands:
        assert program == "appwrapper"
        arguments = build_parser(words).parse_args(words)
        assert arguments.command == "explain"
        assert arguments.names == ["train"] or arguments.filename == "train.yaml" or arguments.all


def test_there_are_no_other_captures() -> None:
    assert {*FOLDER.glob("explain-*")} == {*CAPTURES}


def test_every_situation_that_there_is_is_acted_out() -> None:
    seen = {explain(build()).situation for build in SITUATIONS.values()}
    assert {*Situation} == seen


def test_the_captures_have_the_width_in_their_names() -> None:
    for path, content in CAPTURES.items():
        if path.suffix == ".txt" and path != FOLDER / "explain-answers.txt":
            width = int(path.stem.rpartition("-")[2])
            assert max(map(len, content.splitlines())) <= width, path.name
