"""Runs `appwrapper check` on a made-up cluster, the seeds' example."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from cli import main as program
from cli.cluster.connection import Cluster
from cli.terminal import CommandTerminal
from shared.kube.client import KubeClient
from shared.kube.discovery import Discovery
from shared.process.clock import SystemClock
from tests.support.builders.queues import (
    cluster_queue,
    default_priority,
    gpu_node,
    operator_config,
)
from tests.support.fakes.fake_clock import FakeClock

NOW = datetime(2026, 1, 2, 3, 20, tzinfo=UTC)
SOUND = [
    operator_config("appwrapper:\n  slackQueueName: slack-cluster-queue\n"),
    # Not in the order of their names.
    cluster_queue("platform-cluster-queue", 8, 4, admitted=4),
    cluster_queue("slack-cluster-queue", 8),
    cluster_queue("code-cluster-queue", 8, 16, admitted=1, borrowed=8),
    *(gpu_node(f"gpu-{number}") for number in range(3)),
    default_priority(),
]


class _Clock(SystemClock):
    def __init__(self, rounds: int = 0) -> None:
        self.rounds = rounds

    def now(self) -> datetime:
        return NOW

    async def sleep(self, seconds: float) -> None:
        """Raises Ctrl-C after some rounds."""
        assert seconds == 5.0
        self.rounds -= 1
        if self.rounds <= 0:
            raise KeyboardInterrupt


def checked(
    monkeypatch: pytest.MonkeyPatch,
    client: KubeClient,
    *argv: str,
    rounds: int = 0,
    namespace: str = "code",
    command: str = "check",
    **environment: str,
) -> tuple[int, str, str]:
    """Returns exit code, output and errors of `appwrapper check ARGV`, or of `command`."""

    @asynccontextmanager
    async def connected(arguments: Any) -> AsyncIterator[Cluster]:
        yield Cluster(
            client, Discovery(client, FakeClock()), _Clock(rounds), arguments.namespace or namespace
        )

    monkeypatch.setattr("cli.cluster.connection.connected", connected)
    out, err = io.StringIO(), io.StringIO()
    code = program.main([command, *argv], CommandTerminal(io.StringIO(), out, err, environment))
    return code, out.getvalue(), err.getvalue()
