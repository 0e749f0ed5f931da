"""Carry the connections of a local port to a port of a pod. I/O only."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from cli.command import CommandError
from cli.logs.streams import why_unreadable
from shared.kube import requests
from shared.kube.client import Forbidden, KubeClient, KubeError, Unauthorized, Unreachable
from shared.kube.pod_channels import DATA, ERROR, PORT_PROTOCOLS, PodChannels
from shared.process.clock import Clock

# Only programs of this machine reach the port.
HOST: Final = "127.0.0.1"
_AT_ONCE: Final = 32 * 1024
# The kubelet's first bytes of a channel: the port's number.
_HEADER: Final = 2
# A program that sends no more may still read: the pod has this many seconds for more bytes.
_LAST_BYTES: Final = 60.0


@dataclass(slots=True, kw_only=True)
class PortForwarder:
    """`note` receives each failed connection, for people. `changed` is set with `refusal`.

    `refusal`: the error that no further connection can avoid.
    """

    client: KubeClient
    clock: Clock
    namespace: str
    pod: str
    port: int
    note: Callable[[str], None]
    changed: asyncio.Event
    refusal: KubeError | None = None
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    async def listen(self, local: int, tasks: asyncio.TaskGroup) -> asyncio.Server:
        """Listen on the local port; 0 chooses a free one. Raises CommandError."""

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = tasks.create_task(self._connect(reader, writer))
            self.connections.add(connection)
            connection.add_done_callback(self.connections.discard)

        try:
            return await asyncio.start_server(accept, HOST, local)
        except OSError as error:
            why, other = os.strerror(error.errno or 0), local + 10000 if local < 50000 else 0
            raise CommandError(
                f"port {local} of this machine cannot be used ({why}). Name another one before the"
                f" pod's, such as {other}:{self.port}"
            ) from error

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = requests.pod_port_forward(self.namespace, self.pod, self.port)
        try:
            async with self.client.channels(request, PORT_PROTOCOLS) as channels:
                await self._carry(channels, reader, writer)
        except (Forbidden, Unauthorized) as error:
            self.refusal = error
            self.changed.set()
        except KubeError as error:
            self.note(f"a connection to {self.pod} ended: {why_unreadable(error)}")
        finally:
            writer.close()

    async def _carry(
        self, channels: PodChannels, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Carry bytes both ways until one side ends. Raises Unreachable."""
        exchange = _Exchange()
        down = asyncio.create_task(self._download(channels, writer, exchange))
        up = asyncio.create_task(_upload(channels, reader, exchange))
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            before = -1
            while not down.done() and before != exchange.arrived:
                before = exchange.arrived
                with suppress(TimeoutError):
                    async with self.clock.timeout(_LAST_BYTES):
                        await asyncio.wait({down})
            if down.done():
                down.result()
            elif exchange.is_unanswered:  # a browser that leaves has its answer
                self.note(
                    f"a connection to {self.pod} ended: the local program sends no more, and port"
                    f" {self.port} did not answer within {_LAST_BYTES:.0f} seconds"
                )
        finally:
            up.cancel()
            down.cancel()

    async def _download(
        self, channels: PodChannels, writer: asyncio.StreamWriter, exchange: "_Exchange"
    ) -> None:
        begun: set[int] = set()
        while (message := await channels.receive()) is not None:
            channel, data = message
            if channel not in begun:
                begun.add(channel)
                data = data[_HEADER:]
            if channel == ERROR and data:
                self.note(f"port {self.port} of {self.pod}: {_reason(data)}")
                return
            if channel == DATA and data:
                exchange.arrived += len(data)
                exchange.is_unanswered = False
                writer.write(data)
                try:
                    await writer.drain()
                except OSError:  # the local program has left
                    return


@dataclass(slots=True)
class _Exchange:
    """`arrived`: the bytes from the pod. `is_unanswered`: none came after the program's last."""

    arrived: int = 0
    is_unanswered: bool = False


async def _upload(channels: PodChannels, reader: asyncio.StreamReader, exchange: _Exchange) -> None:
    """Send what the local program writes, to its end."""
    with suppress(OSError, Unreachable):  # `_download` has the reason
        while data := await reader.read(_AT_ONCE):
            exchange.is_unanswered = True
            await channels.send(DATA, data)


def _reason(data: bytes) -> str:
    """Return the kubelet's reason; the usual one without its network namespaces."""
    text = data.decode(errors="replace").strip()
    refused = "connection refused" in text
    return "no program listens on it (connection refused)" if refused else text
