"""The question before a deletion: Ctrl-C ends the command at once."""

import asyncio
import io
import signal

import pytest

from cli.confirming import confirm
from cli.terminal import CommandTerminal


class Interrupted(io.StringIO):
    """A terminal where a person presses Ctrl-C at the question."""

    def isatty(self) -> bool:
        return True

    def readline(self, *_: object) -> str:  # type: ignore[override]
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it waits for a second Ctrl-C")


def test_the_first_ctrl_c_ends_the_command() -> None:
    handlers: list[object] = []

    async def asks() -> None:
        handlers.append(signal.getsignal(signal.SIGINT))
        terminal = CommandTerminal(Interrupted(), io.StringIO(), io.StringIO(), {})
        try:
            confirm("Delete it?", "nothing was deleted", terminal)
        finally:
            handlers.append(signal.getsignal(signal.SIGINT))

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(asks())
    during, after = handlers
    assert during == after != signal.default_int_handler
