"""A run of tests that somebody ends cleans up, whoever it was."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.manifests import ROOT
from tests.support.signals import hear_all_signals

HANGS = """
import asyncio, pathlib, pytest

HERE = pathlib.Path(__file__).parent

@pytest.fixture
def something():
    yield
    HERE.joinpath("cleaned up").touch()

async def hangs():
    # Not before: an interrupt while `asyncio.run` begins is lost, as below.
    print("started", flush=True)
    await asyncio.sleep(20)

def test_hangs(something):
    asyncio.run(hangs())
"""

LOSES_THE_INTERRUPT = """
import pathlib, signal

HERE = pathlib.Path(__file__).parent

def test_loses_it():
    try:
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt:
        pass

def test_next():
    HERE.joinpath("went on").touch()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_fixtures_clean_up(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text(HANGS)
    with subprocess.Popen(
        _command(tmp_path),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_all_signals,
    ) as running:
        assert running.stdout is not None
        while "started" not in (line := running.stdout.readline()):
            assert line, running.communicate()
        running.send_signal(number)
        if number != signal.SIGINT:
            running.send_signal(number)  # some people do it twice
        output, _ = running.communicate()
        assert running.returncode == pytest.ExitCode.INTERRUPTED, output
    assert (tmp_path / "cleaned up").exists()
    assert "KeyboardInterrupt" in output


def test_a_test_that_loses_the_interrupt_is_the_last(tmp_path: Path) -> None:
    (tmp_path / "test_loses_it.py").write_text(LOSES_THE_INTERRUPT)
    ended = subprocess.run(
        _command(tmp_path), cwd=ROOT, capture_output=True, text=True, preexec_fn=hear_all_signals
    )
    assert ended.returncode == pytest.ExitCode.INTERRUPTED, ended.stdout
    assert "1 passed" in ended.stdout
    assert not (tmp_path / "went on").exists()


def _command(folder: Path) -> tuple[str, ...]:
    plugins = ("-p", "no:cacheprovider", "-p", "tests.support.orderly_end")
    return (sys.executable, "-m", "pytest", "-s", *plugins, f"--rootdir={folder}", str(folder))
