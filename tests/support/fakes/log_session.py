"""Runs `appwrapper logs` against pods in memory, as a person at a terminal or as a pipe."""

import io
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from cli import main as program
from cli.cluster.connection import Cluster
from cli.terminal import CommandTerminal
from shared.api.objects import JsonObject
from shared.kube.discovery import Discovery
from tests.support.builders.explained.objects import NOW, appwrapper
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.logged_pods import HurryingClock, LoggedPods


def train(phase: str = "Running", *, pods: int = 2, attempt: int = 1, **status: Any) -> JsonObject:
    """Builds AppWrapper `train`, with further fields of its status."""
    item = appwrapper(phase, pods=pods, attempt=attempt, deployed="True")
    item["status"] |= status
    return item


def world(item: JsonObject, pods: Iterable[JsonObject], **annotations: str) -> LoggedPods:
    """Builds a cluster with the AppWrapper, its pods, and annotations of their namespace."""
    namespace = {"metadata": {"name": "team1", "annotations": annotations}}
    return LoggedPods({"appwrappers": [item], "pods": list(pods), "namespaces": [namespace]})


class Window(io.StringIO):
    """An output with a person at it."""

    def isatty(self) -> bool:
        return True


def connected_to(client: LoggedPods) -> Callable[..., Any]:
    """Returns what stands in for `connected`."""

    @asynccontextmanager
    async def connected(_arguments: object, _on_warning: object = None) -> AsyncIterator[Cluster]:
        clock = HurryingClock(NOW)
        yield Cluster(client, Discovery(client, FakeClock()), clock, "team1")

    return connected


def run_command(
    *words: str,
    window: bool = False,
    err_window: bool = False,
    stdin: str = "",
    **environment: str,
) -> tuple[int, str, str]:
    """Returns the exit code and both streams."""
    out = Window() if window else io.StringIO()
    err = Window() if err_window else io.StringIO()
    terminal = CommandTerminal(io.StringIO(stdin), out, err, environment)
    return program.main(words, terminal), out.getvalue(), err.getvalue()
