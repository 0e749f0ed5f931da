"""Runs `appwrapper check` in this process."""

import asyncio

from localcluster.access.running import RunningCluster
from tests.support.command import Ended, appwrapper


async def check(cluster: RunningCluster, *argv: str) -> Ended:
    """Runs `appwrapper check ARGV`, as an admin unless ARGV names another user."""
    command = ("check", "--kubeconfig", str(cluster.kubeconfig), *argv)
    # In a thread: the command brings its own event loop.
    return await asyncio.to_thread(appwrapper, *command)
