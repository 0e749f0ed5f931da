"""docs/users/generate.md: every command that it shows runs, and prints what it says."""

import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
import yaml

from cli import main as program
from cli.generation.generator import generate
from cli.terminal import CommandTerminal
from tests.support.manifests import ROOT

PAGE = (ROOT / "docs" / "users" / "generate.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S)
(VALUES,) = (text for language, text in BLOCKS if language == "yaml")
SHELL = "".join(text for language, text in BLOCKS if language == "sh")
COMMANDS = re.findall(r"^appwrapper (.*)(?:\n((?:(?!appwrapper|END$).*\n)*)END$)?", SHELL, re.M)
CONSOLE = [text for language, text in BLOCKS if language == "console"]


def ran(command: str, stdin: str = "") -> tuple[int, str, str]:
    """Up to the first pipe or redirection."""
    words = shlex.split(re.split(r" (?:\||>|<<)", command)[0])
    out, err = StringIO(), StringIO()
    code = program.main(words, CommandTerminal(StringIO(stdin), out, err, {}))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(autouse=True)
def in_a_folder_with_the_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "values.yaml").write_text(VALUES)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("command", "stdin"), COMMANDS, ids=[each for each, _ in COMMANDS])
def test_a_command_of_the_page_runs(command: str, stdin: str) -> None:
    code, out, err = ran(command, stdin)
    assert (code, err) == (0, "")
    assert yaml.safe_load(out)


def test_every_command_is_found() -> None:
    assert len(COMMANDS) == SHELL.count("appwrapper generate") == 10


def test_the_page_shows_the_printed_output() -> None:
    (shown,) = CONSOLE
    first, reported = shown.split("\n", 1)
    assert ran(first.removeprefix("$ appwrapper ")) == (1, "", reported)


def test_the_heredoc_of_the_page_is_read() -> None:
    assert [stdin for _, stdin in COMMANDS if stdin] == ["priority: high-priority\n"]


def test_the_first_values_file_makes_a_job_of_four_pods() -> None:
    made = generate([("values.yaml", VALUES)], []).appwrapper
    replicas = made["spec"]["components"][0]["template"]["spec"]["pytorchReplicaSpecs"]
    assert {role: each["replicas"] for role, each in replicas.items()} == {"Master": 1, "Worker": 3}
