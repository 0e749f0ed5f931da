"""Run a command in a container, with this process's streams. I/O, except `exit_code`."""

import asyncio
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from cli.reaching.local_terminal import LocalStreams, write_all
from cli.tasks import one_error
from shared.api.objects import JsonObject
from shared.kube.client import Unreachable
from shared.kube.pod_channels import RESIZE, RESULT, STDERR, STDIN, STDOUT, PodChannels

_NO_END: Final = (
    b"note: this API server cannot pass on the end of the input. A command that waits for it does"
    b" not end: press Ctrl-C\n"
)


class NotStarted(Exception):
    """The container runtime did not run the command. The text is its reason."""


def exit_code(status: JsonObject) -> int:
    """Return the command's exit code. Raises NotStarted. Pure."""
    if status.get("status") == "Success":
        return 0
    details: JsonObject = status.get("details") or {}
    for cause in details.get("causes") or ():
        if cause.get("reason") == "ExitCode" and f"{cause.get('message')}".isdigit():
            return int(cause["message"])
    raise NotStarted(str(status.get("message") or status.get("reason") or "no reason"))


@contextmanager
def _handled(number: signal.Signals, handler: Callable[[int], None]) -> Iterator[None]:
    """Call the handler for the signal inside the context."""
    loop, before = asyncio.get_running_loop(), signal.getsignal(number)
    loop.add_signal_handler(number, handler, number)
    try:
        yield
    finally:
        loop.remove_signal_handler(number)
        signal.signal(number, before or signal.SIG_DFL)


@dataclass(frozen=True, slots=True)
class RemoteCommand:
    """A command that the pod runs now."""

    channels: PodChannels
    streams: LocalStreams

    async def run(self) -> int:
        """Return the exit code, or 128 and the signal that ends this process.

        The terminal is as before in every case. Raises NotStarted, and Unreachable if the
        connection breaks.
        """
        own = asyncio.current_task()
        assert own is not None
        received: list[int] = []

        def end(number: int) -> None:
            received.append(number)
            own.cancel()

        try:
            # Both would leave the terminal raw.
            with _handled(signal.SIGTERM, end), _handled(signal.SIGHUP, end), self.streams.raw():
                return await self._run()
        except asyncio.CancelledError:
            if not received:
                raise  # Ctrl-C, while the input is no terminal
            own.uncancel()
            return 128 + received[0]

    async def _run(self) -> int:
        async with one_error() as tasks:
            own = [tasks.create_task(self._send_input())] if self.streams.has_input else []
            if self.streams.is_terminal:
                own.append(tasks.create_task(self._send_sizes()))
            try:
                return await self._receive()
            finally:
                for task in own:
                    task.cancel()

    async def _receive(self) -> int:
        outputs = {STDOUT: self.streams.stdout, STDERR: self.streams.stderr}
        while (message := await self.channels.receive()) is not None:
            channel, data = message
            if channel == RESULT:  # after all output
                return exit_code(json.loads(data))
            if channel in outputs:
                write_all(outputs[channel], data)
        raise Unreachable("the connection to the pod broke before the command ended")

    async def _send_input(self) -> None:
        with suppress(Unreachable):  # `_receive` knows whether the command has ended
            async for data in self.streams.pieces():
                await self.channels.send(STDIN, data)
            await self.channels.end(STDIN)
            if not (self.channels.can_end_channels or self.streams.is_terminal):
                write_all(self.streams.stderr, _NO_END)

    async def _send_sizes(self) -> None:
        changed = asyncio.Event()
        with _handled(signal.SIGWINCH, lambda _: changed.set()), suppress(Unreachable):
            while True:
                columns, lines = self.streams.size()
                size = json.dumps({"Width": columns, "Height": lines})
                await self.channels.send(RESIZE, size.encode())
                await changed.wait()
                changed.clear()
