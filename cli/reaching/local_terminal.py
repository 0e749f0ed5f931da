"""Use this process's standard streams as bytes, and its terminal in raw mode."""

import asyncio
import os
import termios
import threading
import tty
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from cli.terminal import CommandTerminal

_AT_ONCE: Final = 32 * 1024
# The input that is read before the pod has taken it.
_WAITING: Final = 4


@dataclass(frozen=True, slots=True)
class LocalStreams:
    """The file descriptors. `is_terminal`: a person types, and reads the output.

    `has_input`: standard input is for the pod. It is not for a command whose output leaves the
    terminal: a pager, or the shell if the command runs in the background, reads the keys.
    """

    stdin: int
    stdout: int
    stderr: int
    is_terminal: bool
    has_input: bool

    @classmethod
    def of(cls, terminal: CommandTerminal, *, is_shell: bool) -> "LocalStreams":
        stdin, stdout = terminal.stdin.fileno(), terminal.stdout.fileno()
        is_terminal = os.isatty(stdin) and os.isatty(stdout)
        has_input = is_shell or is_terminal or not os.isatty(stdin)
        return cls(stdin, stdout, terminal.stderr.fileno(), is_terminal, has_input)

    @contextmanager
    def raw(self) -> Iterator[None]:
        """Pass every key to the pod inside the context; no effect without a terminal."""
        if not self.is_terminal:
            yield
            return
        before = termios.tcgetattr(self.stdin)
        try:
            tty.setraw(self.stdin, termios.TCSADRAIN)
            yield
        finally:
            with suppress(termios.error):  # the window is closed
                termios.tcsetattr(self.stdin, termios.TCSADRAIN, before)

    def size(self) -> tuple[int, int]:
        """Return the window's columns and lines."""
        found = os.get_terminal_size(self.stdout)
        return found.columns, found.lines

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the input until its end.

        A thread reads: a terminal in asyncio's non-blocking mode would stay so in the user's shell,
        and files have no such mode. The thread ends with the process.
        """
        loop, room = asyncio.get_running_loop(), threading.Semaphore(_WAITING)
        queue: asyncio.Queue[bytes] = asyncio.Queue()

        def read() -> None:
            data = b"more"
            while data:
                room.acquire()
                try:
                    data = os.read(self.stdin, _AT_ONCE)
                except OSError:  # the window is closed
                    data = b""
                with suppress(RuntimeError):  # the command has ended
                    loop.call_soon_threadsafe(queue.put_nowait, data)

        threading.Thread(target=read, daemon=True, name="input").start()
        while data := await queue.get():
            yield data
            room.release()


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes. Raises BrokenPipeError if the reader has ended."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
