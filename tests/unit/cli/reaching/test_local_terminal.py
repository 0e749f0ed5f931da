"""`appwrapper shell` on a terminal: raw while it runs, and as before after every end."""

import fcntl
import os
import pty
import signal
import struct
import termios
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cli import main as program
from cli.terminal import CommandTerminal
from shared.kube.client import Unreachable
from shared.kube.pod_channels import RESIZE, STDIN, STDOUT
from tests.support.fakes.reached_pods import (
    SUCCESS,
    ReachedPods,
    ScriptedChannels,
    ends_with,
    until_sent,
)

_LFLAG = 3


class Window:
    """A pseudo-terminal: a person at one side, the command at the other."""

    def __init__(self) -> None:
        self.person, self.command = pty.openpty()
        self.resize(80, 24)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.person, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def mode(self) -> list[Any]:
        return termios.tcgetattr(self.command)

    def is_raw(self) -> bool:
        return not self.mode()[_LFLAG] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def run(self, *words: str, out: str | None = None) -> int:
        """`out`: a file for the output."""
        with (
            open(self.command, closefd=False) as stdin,
            open(out or self.command, "w", closefd=out is not None) as stdout,
            open(os.devnull, "w") as stderr,
        ):
            terminal = CommandTerminal(stdin, stdout, stderr, {})
            return int(program.main(["shell", *words], terminal))


@pytest.fixture
def window() -> Iterator[Window]:
    made = Window()
    yield made
    os.close(made.person)  # ends the thread that reads the input
    os.close(made.command)


def test_keys_output_and_sizes_pass_through(pods: ReachedPods, window: Window) -> None:
    async def types(_: ScriptedChannels) -> None:
        assert window.is_raw()
        os.write(window.person, b"\x03\x1a")  # Ctrl-C and Ctrl-Z are the pod's

    async def resizes(_: ScriptedChannels) -> None:
        window.resize(132, 50)
        os.kill(os.getpid(), signal.SIGWINCH)

    pods.scripts = [
        [
            until_sent((RESIZE, b'{"Width": 80, "Height": 24}')),
            types,
            until_sent((STDIN, b"\x03\x1a")),
            resizes,
            until_sent((RESIZE, b'{"Width": 132, "Height": 50}')),
            (STDOUT, b"$ \x1b[1m"),
            ends_with(3),
        ]
    ]
    before = window.mode()
    assert window.run("train") == 3
    assert window.mode() == before
    assert os.read(window.person, 100) == b"$ \x1b[1m"
    (request,) = pods.reached
    assert "&stdout=true&tty=true&command=" in request.target


def test_a_command_whose_output_leaves_the_terminal_takes_no_keys(
    pods: ReachedPods, window: Window
) -> None:
    """Another program needs them: a pager, or the shell that started it in the background."""
    pods.scripts = [[(STDOUT, b"1"), SUCCESS]]
    assert window.run("train", "--", "cat", "log", out=os.devnull) == 0
    assert "&stdin=false&stdout=true&stderr=true&" in pods.reached[0].target
    assert "input" not in [each.name for each in threading.enumerate()]


def test_a_shell_whose_output_leaves_the_terminal_takes_the_keys(
    pods: ReachedPods, window: Window
) -> None:
    os.write(window.person, b"ls\n")
    pods.scripts = [[until_sent((STDIN, b"ls\n")), SUCCESS]]
    assert window.run("train", out=os.devnull) == 0
    assert "&stdin=true&stdout=true&stderr=true&" in pods.reached[0].target


def test_the_terminal_is_restored_after_an_error(pods: ReachedPods, window: Window) -> None:
    before = window.mode()
    pods.scripts = [[Unreachable("cut")], [SUCCESS]]
    assert window.run("train") == 2
    assert window.mode() == before
    assert window.run("train") == 0
    assert window.mode() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_terminal_is_restored_after_a_signal(
    pods: ReachedPods, window: Window, number: signal.Signals
) -> None:
    async def is_killed(channels: ScriptedChannels) -> None:
        assert window.is_raw()
        os.kill(os.getpid(), number)
        await channels.changed.wait()
        while True:
            channels.changed.clear()
            await channels.changed.wait()

    before, handler = window.mode(), signal.getsignal(number)
    pods.scripts = [[is_killed]]
    assert window.run("train") == 128 + number
    assert window.mode() == before
    assert signal.getsignal(number) is handler
