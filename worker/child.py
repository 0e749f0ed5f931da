"""Run the command: forward signals to it alone, reap what it leaves, return how it ended.

The recorder waits for its signals instead of handling them, from before the command starts, so
that none is lost in between. The command inherits stdin, stdout, stderr, the process group and the
terminal as they are.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worker import signals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True)
class ReceivedSignal:
    """The first signal that asked the worker to end, and when (nanoseconds since the epoch)."""

    signal: int
    time_ns: int


@dataclass(frozen=True)
class Ended:
    """How the command ended: its exit code, or the negated number of the signal that killed it."""

    pid: int
    status: int
    time_ns: int
    end_signal: ReceivedSignal | None


def start(
    command: Sequence[str], environ: Mapping[str, str], mask: set[int]
) -> subprocess.Popen[bytes]:
    """Start `command` with the signal mask that `signals.hold` returned. Raises OSError.

    A signal that was ignored when the recorder started stays ignored.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if signal.SIGINT in signals.awaited():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The recorder has one thread, so that code between fork and exec is safe.
    return subprocess.Popen(
        command, env=environ, close_fds=False, preexec_fn=lambda: signals.release(mask)
    )


def wait(
    process: subprocess.Popen[bytes], on_end_signal: Callable[[int, ReceivedSignal], None]
) -> Ended:
    """Wait for the command's end, and forward the signals that arrive until then.

    `on_end_signal` gets the command's pid and the first signal that asks it to end, after the
    signal was forwarded.
    """
    awaited = signals.awaited()
    end_signal: ReceivedSignal | None = None
    while True:
        number, is_known = signals.wait(awaited)
        # First: a signal that was not forwarded yet explains no end that came before it.
        _reap(process)
        status = process.returncode
        reached = is_known or status in (None, -number)  # -number: the whole group got it
        if number != signal.SIGCHLD and status is None and not is_known:
            # Not yet reaped, so that it is still the command's pid. It may run as another user.
            with suppress(PermissionError):
                os.kill(process.pid, number)
        if end_signal is None and number in signals.ENDING and reached:
            end_signal = ReceivedSignal(number, time.time_ns())
            on_end_signal(process.pid, end_signal)
        if status is not None:
            return Ended(process.pid, status, time.time_ns(), end_signal)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Reap every ended child (orphans too, as PID 1); note how the command ended if it did."""
    while True:
        try:
            pid, wait_status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid == process.pid:
            killed = os.WIFSIGNALED(wait_status)
            process.returncode = (
                -os.WTERMSIG(wait_status) if killed else os.WEXITSTATUS(wait_status)
            )
