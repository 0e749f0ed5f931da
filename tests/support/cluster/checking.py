"""Runs `appwrapper check` in this process."""

import asyncio
import io

from cli.main import main
from cli.terminal import CommandTerminal
from localcluster.access.running import RunningCluster


async def check(cluster: RunningCluster, *argv: str) -> tuple[int, str, str]:
    """Runs `appwrapper check ARGV`, as an admin unless ARGV names another user.

    Returns the exit code, the output and the errors.
    """
    out, err = io.StringIO(), io.StringIO()
    terminal = CommandTerminal(io.StringIO(), out, err, {})
    command = ["check", "--kubeconfig", str(cluster.kubeconfig), *argv]
    # In a thread: the command brings its own event loop.
    code = await asyncio.to_thread(main, command, terminal)
    return code, out.getvalue(), err.getvalue()
