"""Pods whose channels follow a test's script, and a terminal with real file descriptors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson

from cli.logs.choosing import LogPod, LogState
from shared.api.objects import JsonObject
from shared.kube.client import KubeError
from shared.kube.pod_channels import RESULT
from shared.kube.requests import Request
from tests.support.fakes.logged_pods import LoggedPods

SUCCESS = (RESULT, b'{"status":"Success"}')
# A message from the pod, an error that ends the connection, or what happens between two messages.
Step = tuple[int, bytes] | KubeError | Callable[["ScriptedChannels"], Awaitable[None]]


def ends_with(code: int) -> tuple[int, bytes]:
    """Builds the result of a command with this exit code."""
    cause = {"reason": "ExitCode", "message": f"{code}"}
    return failure("command terminated", reason="NonZeroExitCode", details={"causes": [cause]})


def failure(message: str, **more: object) -> tuple[int, bytes]:
    """Builds the result of a command that did not end well."""
    status: JsonObject = {"status": "Failure", "message": message, **more}
    return RESULT, orjson.dumps(status)


@dataclass
class ScriptedChannels:
    """Stands in for `PodChannels`. `sent`: the messages to the pod; `end` sends channel 255.

    `ended`: set when the command ends a channel; `closed`: when it has closed the connection.
    """

    steps: list[Step]
    can_end_channels: bool = True
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[tuple[int, bytes]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, channel: int, data: bytes) -> None:
        self.sent.append((channel, data))
        self.changed.set()

    async def end(self, channel: int) -> None:
        self.ended.set()
        if self.can_end_channels:
            await self.send(255, bytes((channel,)))

    async def receive(self) -> tuple[int, bytes] | None:
        while self.steps:
            step = self.steps.pop(0)
            if isinstance(step, KubeError):
                raise step
            if isinstance(step, tuple):
                return step
            await step(self)
        return None


def until_sent(*messages: tuple[int, bytes]) -> Step:
    """Waits until the pod has received these messages."""

    async def wait(channels: ScriptedChannels) -> None:
        async with asyncio.timeout(20):
            while not {*messages} <= {*channels.sent}:
                channels.changed.clear()
                await channels.changed.wait()

    return wait


def after(event: asyncio.Event) -> Step:
    async def wait(_: ScriptedChannels) -> None:
        await event.wait()

    return wait


class ReachedPods(LoggedPods):
    """`scripts`: the steps of each connection, in order, or the API server's refusal.

    `reached`: the requests; `opened`: the channels.
    """

    def __init__(self, objects: dict[str, list[JsonObject]]) -> None:
        super().__init__(objects)
        self.scripts: list[list[Step] | KubeError] = []
        self.reached: list[Request] = []
        self.opened: list[ScriptedChannels] = []
        self.has_opened = asyncio.Event()
        self.can_end_channels = True

    @asynccontextmanager
    async def channels(  # type: ignore[override]
        self, request: Request, protocols: Sequence[str]
    ) -> AsyncIterator[ScriptedChannels]:
        self.reached.append(request)
        script = self.scripts.pop(0)
        if isinstance(script, KubeError):
            raise script
        made = ScriptedChannels(script, can_end_channels=self.can_end_channels)
        self.opened.append(made)
        self.has_opened.set()
        try:
            yield made
        finally:
            made.closed.set()


def reachable(rank: int | None, *, runs: bool = True, reason: str = "", name: str = "") -> LogPod:
    """Builds a pod that runs, unless it waits for the reason or has ended."""
    return LogPod(
        name=name or f"train-{rank}",
        uid=f"uid-{rank}{name}",
        rank=rank,
        container="main",
        containers=("main",),
        state=LogState.NONE if reason else LogState.GROWING,
        reason=reason,
        is_running=runs,
    )
