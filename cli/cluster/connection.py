"""Connect to the API server that a command's options name."""

import argparse
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cli.command import CommandError
from shared.kube.client import KubeClient
from shared.kube.discovery import Discovery
from shared.kube.http_client import connect
from shared.kube.kubeconfig import Impersonation
from shared.process.clock import Clock, SystemClock

# The server reports its time in whole seconds: a smaller difference means nothing.
_SKEW: Final = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Cluster:
    """An API server under the user's identity. `namespace`: from -n, else from the context."""

    client: KubeClient
    discovery: Discovery
    clock: Clock
    namespace: str

    def now(self) -> datetime:
        """Return the API server's time if it differs: all timestamps in the cluster use it."""
        ahead, now = self.client.server_ahead(), self.clock.now()
        return now if ahead is None or abs(ahead) <= _SKEW else now + ahead


@asynccontextmanager
async def connected(
    arguments: argparse.Namespace, on_warning: Callable[[str], None] | None = None
) -> AsyncIterator[Cluster]:
    """Connect by the options of `options.add_connection`. Raises CannotConnect, CommandError.

    `on_warning` receives the API server's warnings.
    """
    if arguments.as_groups and not arguments.as_user:
        raise CommandError("--as-group needs --as: groups alone are no identity. Add --as USER")
    who = (
        Impersonation(arguments.as_user, tuple(arguments.as_groups)) if arguments.as_user else None
    )
    client = await connect(
        arguments.kubeconfig,
        user_agent="appwrapper-command/0.1",
        context=arguments.context,
        impersonation=who,
        on_warning=on_warning,
    )
    try:
        namespace = arguments.namespace or client.namespace
        clock = SystemClock()
        yield Cluster(client, Discovery(client, clock), clock, namespace)
    finally:
        await client.close()
