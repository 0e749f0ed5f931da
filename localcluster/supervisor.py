"""The detached half of `up`: holds one cluster until it gets SIGTERM, or dies with all of it.

Standard error, which shows the progress, is that of `up`. Standard output is a pipe to `up` for one
line of JSON, READY or FAILED. Standard input is a pipe from `up`: if it ends before the cluster is
ready, `up` was killed and the cluster ends too. Afterwards all lead to supervisor.log.
"""

import asyncio
import os
from pathlib import Path

import orjson

from localcluster.access.options import ClusterOptions, decode_options
from localcluster.cluster import LocalCluster
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.interrupts import Interrupted, interruptible
from localcluster.machine.progress import reporter_for

READY = "ready"
FAILED = "failed"


async def hold(options: ClusterOptions) -> None:
    """Starts the cluster, reports that, and waits until cancelled."""
    me = asyncio.current_task()
    assert me is not None
    loop = asyncio.get_running_loop()

    def starter_is_gone() -> None:
        if not os.read(0, 1):
            loop.remove_reader(0)
            me.cancel()

    loop.add_reader(0, starter_is_gone)
    try:
        async with LocalCluster(options, reporter_for()) as cluster:
            loop.remove_reader(0)
            _report({"result": READY, "kubeconfig": str(cluster.kubeconfig)})
            _detach(cluster.logs / "supervisor.log")
            await asyncio.Event().wait()
    finally:
        loop.remove_reader(0)


def main(argument: str) -> int:
    """Runs until SIGTERM. Returns 0, or 1 if the cluster did not start."""
    try:
        interruptible(hold(decode_options(argument)))
    except (Interrupted, asyncio.CancelledError):
        return 0
    except LocalClusterError as failure:
        _report({"result": FAILED, "message": str(failure)})
        return 1
    return 0


def _report(answer: dict[str, str]) -> None:
    print(orjson.dumps(answer).decode(), flush=True)


def _detach(log: Path) -> None:
    """Leaves the pipes and the terminal, so that `up` and readers of its output can end."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for opened, standard in ((nothing, 0), (written, 1), (written, 2)):
        os.dup2(opened, standard)
    os.close(nothing)
    os.close(written)
