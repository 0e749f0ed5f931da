"""Run `appwrapper port-forward`: from its arguments to the end of the attempt."""

import argparse
from collections.abc import Callable
from typing import Final

from cli.cluster.connection import Cluster, connected
from cli.command import CommandError, ExitCode
from cli.reaching.choosing import described
from cli.reaching.ending import EndWatch
from cli.reaching.forwarding import HOST, PortForwarder
from cli.reaching.target import Target, missing_right, target
from cli.tasks import next_change
from cli.terminal import CommandTerminal, harmless
from shared.kube.client import Forbidden

_LAST_PORT: Final = 65535


def ports(text: str) -> tuple[int, int]:
    """Read [LOCAL:]PORT. Raises CommandError."""
    local, _, remote = text.rpartition(":")
    numbers = [int(each) for each in (local or remote, remote) if each.isascii() and each.isdigit()]
    if len(numbers) == 2 and numbers[0] <= _LAST_PORT and 1 <= numbers[1] <= _LAST_PORT:
        return numbers[0], numbers[1]
    raise CommandError(
        f"{text}: write [LOCAL:]PORT with numbers up to {_LAST_PORT}, such as 6006 or 16006:6006."
        " LOCAL 0 chooses a free port"
    )


async def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Forward until the attempt ends, or Ctrl-C. Raises CommandError, KubeError."""
    local, remote = ports(arguments.ports)
    async with connected(arguments) as cluster:
        found = await target(cluster, arguments)
        return await _forward(cluster, found, local, remote, terminal)


async def _forward(
    cluster: Cluster, found: Target, local: int, remote: int, terminal: CommandTerminal
) -> ExitCode:
    end = EndWatch(cluster, found)
    note = _notes(terminal)
    forwarder = PortForwarder(
        client=cluster.client,
        clock=cluster.clock,
        namespace=cluster.namespace,
        pod=found.pod.name,
        port=remote,
        note=note,
        changed=end.watched.changed,
    )
    async with end.watched.running() as tasks:
        server = await forwarder.listen(local, tasks)
        try:
            port = server.sockets[0].getsockname()[1]
            terminal.write(f"{HOST}:{port} -> port {remote} of {described(found.pod)}\n")
            terminal.stdout.flush()
            while not (why := end.why_over()):
                if isinstance(forwarder.refusal, Forbidden):
                    raise missing_right(forwarder.refusal, "portforward", cluster.namespace)
                if forwarder.refusal is not None:
                    raise forwarder.refusal
                await next_change(end.watched.changed, cluster.clock)
        finally:
            server.close()
            for each in [*forwarder.connections]:
                each.cancel()
    note(why)
    return ExitCode.WANTING


def _notes(terminal: CommandTerminal) -> Callable[[str], None]:
    def note(text: str) -> None:
        terminal.stderr.write(f"note: {harmless(text)}\n")
        terminal.stderr.flush()

    return note
