"""The command's beginning and end: which command runs, what people are told, exit codes."""

import argparse
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import main as program
from cli.command import Command, CommandError, ExitCode
from cli.completion import proposals
from cli.terminal import CommandTerminal
from shared.kube.client import CannotConnect

ROOT = Path(__file__).parents[3]


def in_test(**environment: str) -> tuple[CommandTerminal, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return CommandTerminal(io.StringIO(), out, err, environment), out, err


def runs(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace, CommandTerminal], ExitCode]
) -> None:
    """`completion` does that instead."""
    command = Command("Does it.", lambda parser: None, run)
    monkeypatch.setattr(program, "load", lambda name: command)


def failing(error: BaseException) -> Callable[[argparse.Namespace, CommandTerminal], ExitCode]:
    def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
        raise error

    return run


def test_without_a_command_it_prints_its_help_and_is_unable() -> None:
    terminal, out, err = in_test()
    assert program.main([], terminal) == ExitCode.UNABLE
    assert out.getvalue().startswith("usage: appwrapper")
    for name, summary in program.COMMANDS.items():
        assert re.search(rf"{name}\s+{summary}", out.getvalue())
    assert err.getvalue() == ""


def first_line_of(name: str) -> str:
    return program.load(name).description.strip().splitlines()[0]


@pytest.mark.parametrize("name", program.COMMANDS)
def test_every_command_has_its_own_help_in_80_columns(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    terminal, _, _ = in_test()
    assert program.main([name, "--help"], terminal) == ExitCode.FINE
    printed = capsys.readouterr().out
    assert first_line_of(name) in " ".join(printed.split())
    assert [line for line in printed.splitlines() if len(line) > 80] == []


def test_an_alias_has_the_help_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    terminal, _, _ = in_test()
    for alias, name in program.ALIASES.items():
        assert program.main([alias, "--help"], terminal) == ExitCode.FINE
        assert first_line_of(name) in " ".join(capsys.readouterr().out.split())


def test_wrong_usage_is_reported_by_argparse(capsys: pytest.CaptureFixture[str]) -> None:
    terminal, _, _ = in_test()
    assert program.main(["completion", "tcsh"], terminal) == ExitCode.UNABLE
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (CommandError("no such thing"), 2, "error: no such thing\n"),
        (CommandError("it is refused", ExitCode.WANTING), 1, "error: it is refused\n"),
        (CannotConnect("no API server"), 2, "error: no API server\n"),
        (
            FileNotFoundError(2, "No such file or directory", "job.yaml"),
            2,
            "error: job.yaml: No such file or directory\n",
        ),
        (
            OSError(28, "No space left on device"),
            2,
            "error: input or output: No space left on device\n",
        ),
        (
            KeyError("spec"),
            2,
            "error: this is a fault of the command itself (KeyError: 'spec')."
            " Run it again with --debug and report what it prints\n",
        ),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_printed_in_one_line_without_a_stack_trace(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    runs(monkeypatch, failing(error))
    terminal, out, err = in_test()
    assert program.main(["completion"], terminal) == code
    assert (out.getvalue(), err.getvalue()) == ("", message)


def test_ctrl_c_is_quiet_before_the_command_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["appwrapper", "completion", "bash"])
    monkeypatch.setattr(program, "build_parser", failing_early)
    with pytest.raises(SystemExit) as ended:
        program.program()
    assert ended.value.code == ExitCode.INTERRUPTED


def failing_early(words: object) -> argparse.ArgumentParser:
    raise KeyboardInterrupt


def test_debug_shows_where_an_error_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, failing(KeyError("spec")))
    terminal, _, err = in_test()
    assert program.main(["completion", "--debug"], terminal) == ExitCode.UNABLE
    assert err.getvalue().startswith("Traceback (most recent call last):")
    assert 'test_main.py", line' in err.getvalue()


def test_a_reader_that_has_gone_is_no_error() -> None:
    command = [sys.executable, "-m", "cli", "completion", "bash"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (ExitCode.PIPE_CLOSED, "")


@pytest.mark.parametrize(
    "words",
    [["--help"], ["team", "create", "--help"], *([name, "--help"] for name in program.COMMANDS)],
    ids=" ".join,
)
def test_help_imports_nothing_that_takes_long(words: list[str]) -> None:
    """What starts within a moment is what is not imported: no figure depends on the machine.

    Of the standard library asyncio alone takes as long as all the rest.
    """
    script = (
        "import sys; from cli.main import main; from cli.terminal import CommandTerminal;"
        f"main({words!r}, CommandTerminal());"
        "print(sorted({n.partition('.')[0] for n in sys.modules}"
        " - ({*sys.stdlib_module_names} - {'asyncio'})), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.startswith("usage: ")
    loaded = {each for each in eval(ended.stderr) if not each.startswith("_")}
    assert loaded == {"cli"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["comp"], ["completion"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["completion", "--d"], ["--debug"]),
        (["team", ""], ["create", "delete", "list", "show"]),
        (["team", "create", "--over"], ["--over-capacity"]),
        (["ls", "--sort", "p"], ["position", "priority"]),
        (["queue", "--st"], ["--state"]),
    ],
)
def test_words_are_completed(words: list[str], expected: list[str]) -> None:
    options = words[-1].startswith("-")
    assert [each for each in proposals(words) if each.startswith("-") is options] == expected


def test_an_option_is_named_whole(capsys: pytest.CaptureFixture[str]) -> None:
    terminal, _, _ = in_test()
    assert program.main(["completion", "bash", "--deb"], terminal) == ExitCode.UNABLE
    assert "unrecognized arguments: --deb" in capsys.readouterr().err


def test_output_is_utf_8_in_every_locale() -> None:
    """kubectl reads nothing else."""
    manifest = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: main, image: none}]  # \N{GRINNING FACE}
"""
    ended = subprocess.run(
        [sys.executable, "-m", "cli", "pack", "-"],
        cwd=ROOT,
        input=manifest.encode(),
        env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "\N{GRINNING FACE}" in ended.stdout.decode("utf-8")
