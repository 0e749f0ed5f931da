"""A child process that never outlives this one, not even when this one is killed with kill -9.

Linux sends PR_SET_PDEATHSIG when the *thread* that forked ends. So children are spawned from the
event loop's thread and never from a pool. A pidfd reports their end: no thread, no SIGCHLD handler,
no polling.
"""

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from localcluster.machine.parent import signal_at_parents_end


class Child:
    """One running process. Standard output and standard error go to one file."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        output: int | IO[bytes],
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        own_group: bool = False,
    ) -> None:
        """Starts it. `own_group` makes it a group leader: signals, and our end, reach the group.

        `environment` replaces this process's one. Raises OSError if it cannot be started.
        """
        self._own_group = own_group
        self._tripwire = _tripwire() if own_group else None
        try:
            self._popen = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if environment is None else dict(environment),
                cwd=folder,
                process_group=0 if own_group else None,
                preexec_fn=_die_with(os.getpid(), self._tripwire),
            )
        except BaseException:
            if self._tripwire is not None:
                self._tripwire.communicate(b"over\n")
            raise
        self.pid = self._popen.pid
        self._exited = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._pidfd: int | None = os.pidfd_open(self.pid)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._pidfd, self._on_exit)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; minus the number of the signal that ended it."""
        return self._popen.returncode

    async def wait(self) -> int:
        """Returns the exit code once the process has ended."""
        await self._exited.wait()
        assert self._popen.returncode is not None
        return self._popen.returncode

    def on_exit(self, callback: Callable[[], None]) -> None:
        """Calls `callback` from the event loop when the process has ended."""
        self._callbacks.append(callback)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal, to the group if the process leads one. Does nothing after its end."""
        if self._popen.returncode is not None:
            return
        if self._own_group:
            os.killpg(self.pid, number)
        else:
            self._popen.send_signal(number)

    async def stop(self, patience: float) -> None:
        """Sends SIGTERM, then SIGKILL after `patience` seconds; returns after the end."""
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(patience):
                await self._exited.wait()
        except TimeoutError:
            self.signal(signal.SIGKILL)
            await self._exited.wait()

    def kill_now(self) -> None:
        """Sends SIGKILL and waits without the event loop: for the interpreter's exit."""
        self.signal(signal.SIGKILL)
        self._popen.wait()
        self._close()

    def _on_exit(self) -> None:
        self._popen.wait()
        self._close()
        self._exited.set()
        for callback in self._callbacks:
            callback()

    def _close(self) -> None:
        if self._tripwire is not None:
            self._tripwire.communicate(b"over\n")
            self._tripwire = None
        if self._pidfd is not None:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None


async def captured(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> tuple[int, str]:
    """Runs a short command; returns its exit code and the output of both streams.

    Raises OSError if it cannot be started. If cancelled, it kills the command first.
    """
    with tempfile.TemporaryFile() as output:
        child = Child(command, output=output, environment=environment, folder=folder)
        try:
            code = await child.wait()
        finally:
            if child.exit_code is None:
                child.kill_now()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def _tripwire() -> subprocess.Popen[bytes]:
    """Starts a shell that kills the group whose number it reads, if this process then just ends.

    PR_SET_PDEATHSIG reaches a child but not the child's children (a compiler that `go` started).
    The shell starts before the group: else this process could be killed in between.
    """
    script = 'read -r group && { read -r _ || kill -KILL "-$group"; }'
    return subprocess.Popen(
        ["/bin/sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _die_with(parent: int, tripwire: subprocess.Popen[bytes] | None = None) -> Callable[[], None]:
    """Returns code for the child, between fork and exec: it and its group die with the parent."""
    reports = tripwire.stdin.fileno() if tripwire and tripwire.stdin else None

    def arrange() -> None:
        signal_at_parents_end(signal.SIGKILL)
        # The parent may have died before the call above: then no signal would come.
        if os.getppid() != parent:
            os._exit(1)
        if reports is not None:
            os.write(reports, f"{os.getpid()}\n".encode())

    return arrange
