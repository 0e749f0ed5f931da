"""Exchange bytes with a pod over one WebSocket: a command's streams, or a port's.

Each message begins with one byte, the number of its channel. The requests in `requests` describe
what the channels mean.
"""

from dataclasses import dataclass
from typing import Final

import aiohttp

from shared.kube.responses import Unreachable

# The pod's command: its streams, its result, and the size of its terminal.
STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
RESULT: Final = 3
RESIZE: Final = 4
# With the first protocol, this channel ends another one: the command reads an end of file.
END: Final = 255
ENDS_CHANNELS: Final = "v5.channel.k8s.io"
COMMAND_PROTOCOLS: Final = (ENDS_CHANNELS, "v4.channel.k8s.io")

# The pod's port: its bytes, and the kubelet's error. Each begins with the port's number.
DATA: Final = 0
ERROR: Final = 1
PORT_PROTOCOLS: Final = ("v4.channel.k8s.io",)


@dataclass(frozen=True, slots=True)
class PodChannels:
    """An open WebSocket to a pod. `name`: the request, for messages."""

    socket: aiohttp.ClientWebSocketResponse[bool]
    name: str

    @property
    def can_end_channels(self) -> bool:
        """True if `end` reaches the pod."""
        return self.socket.protocol == ENDS_CHANNELS

    async def send(self, channel: int, data: bytes) -> None:
        """Send the bytes; wait while the pod does not read. Raises Unreachable."""
        try:
            await self.socket.send_bytes(bytes((channel,)) + data)
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{self.name}: the connection broke") from error

    async def end(self, channel: int) -> None:
        """End a channel for the pod. Raises Unreachable."""
        if self.can_end_channels:
            await self.send(END, bytes((channel,)))

    async def ping(self) -> None:
        """Send a sign of life, so that proxies keep a silent connection. Raises Unreachable."""
        try:
            await self.socket.ping()
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{self.name}: the connection broke") from error

    async def receive(self) -> tuple[int, bytes] | None:
        """Return the next channel and bytes; None after the end. Raises Unreachable."""
        while True:
            message = await self.socket.receive()
            match message.type:
                case aiohttp.WSMsgType.BINARY if message.data:
                    return message.data[0], message.data[1:]
                case aiohttp.WSMsgType.TEXT if message.data:
                    whole = message.data.encode()
                    return whole[0], whole[1:]
                case aiohttp.WSMsgType.BINARY | aiohttp.WSMsgType.TEXT:
                    continue
                case aiohttp.WSMsgType.ERROR:
                    raise Unreachable(f"{self.name}: {message.data}")
                case _:
                    return None
