"""Implements the commands: `up` starts a supervisor, `down` ends it, `status` reads its state."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from localcluster import supervisor
from localcluster.access.options import ClusterOptions, encode_options
from localcluster.cluster import check, programs_of
from localcluster.images import ensure_images, torch_image, workload_image
from localcluster.installers import ON_REQUEST
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.folder import running_owner, sweep
from localcluster.machine.interrupts import interruptible
from localcluster.machine.progress import Reporter, reporter_for
from localcluster.machine.slowness import stretched
from localcluster.programs.build_cache import BuildCache
from localcluster.programs.build_cache import default_folder as programs_folder
from localcluster.programs.catalogue import BESIDE, component
from localcluster.programs.toolchain import find_go, find_kubectl
from localcluster.realnode import cgroups, requirements
from localcluster.state import ClusterState, read_state

_ROOT = Path(__file__).resolve().parent.parent
_DOWN_SECONDS = stretched(180.0)


def up(options: ClusterOptions) -> Path:
    """Starts a cluster that outlives this command; returns its kubeconfig once it is ready.

    Raises LocalClusterError if the start fails, Interrupted on Ctrl-C; nothing is left running
    then.
    """
    check(options)
    return interruptible(_up(options))


async def _up(options: ClusterOptions) -> Path:
    process = _start_supervisor(options)
    assert process.stdin is not None
    assert process.stdout is not None
    # It ends once the supervisor leaves its pipes, or ends itself.
    answering = asyncio.create_task(asyncio.to_thread(process.stdout.read))
    try:
        answer = await asyncio.shield(answering)
        if not answer:
            code = await asyncio.to_thread(process.wait)
            raise LocalClusterError(
                f"The cluster's supervisor ended with exit code {code}. Its own error, if it could"
                " report one, is above."
            )
        result = orjson.loads(answer)
        if result["result"] != supervisor.READY:
            await asyncio.to_thread(process.wait)
            raise LocalClusterError(result["message"])
        return Path(result["kubeconfig"])
    except asyncio.CancelledError:
        process.send_signal(signal.SIGTERM)
        await answering
        await asyncio.to_thread(process.wait)
        raise
    finally:
        process.stdin.close()
        process.stdout.close()
        # The supervisor outlives this process; Popen must not warn about that.
        process.returncode = process.poll() or 0


def _start_supervisor(options: ClusterOptions) -> subprocess.Popen[bytes]:
    """Starts it; it shows its progress on our standard error."""
    return subprocess.Popen(
        [sys.executable, "-m", "localcluster", "supervise", encode_options(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=_ROOT,
        start_new_session=True,
    )


def down(directory: Path) -> str:
    """Ends the cluster in the folder and removes its files; returns a summary."""
    owner = running_owner(directory)
    if owner is None:
        swept = sweep(directory)
        if os.geteuid() == 0:
            cgroups.sweep()
        return f"Removed what a killed run left in {directory}." if swept else "Nothing is running."
    try:
        descriptor = os.pidfd_open(owner)
    except ProcessLookupError:
        return f"The cluster in {directory} has just ended."
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        if not ended.poll(_DOWN_SECONDS * 1000):
            raise LocalClusterError(
                f"Process {owner}, which holds the cluster in {directory}, did not end within"
                f" {_DOWN_SECONDS:.0f} s. `kill -9 {owner}` ends it and all its processes."
            )
    finally:
        os.close(descriptor)
    return f"Stopped the cluster in {directory}."


def status(directory: Path) -> ClusterState | None:
    """Returns the state of the cluster in the folder; None if none runs."""
    if running_owner(directory) is None:
        return None
    return read_state(directory) or ClusterState(running_owner(directory) or 0, False, "", ())


def status_text(state: ClusterState | None, directory: Path) -> str:
    """Formats the state for people."""
    if state is None:
        return f"No cluster runs in {directory}."
    rows = [
        ("COMPONENT", "PID", "STATE", "ADDRESS", "LOG"),
        ("supervisor", str(state.pid), "running", "-", "-"),
        *(
            (each.name, str(each.pid), each.state, each.address or "-", each.log or "-")
            for each in state.processes
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    if not state.ready:
        lines.append("It is still starting.")
    elif state.kubeconfig:
        lines.append(f"export KUBECONFIG={state.kubeconfig}")
    return "\n".join(lines)


def build(
    components: frozenset[str],
    *,
    real_node: bool = False,
    kueue: str | None = None,
    torch: bool = False,
    beside: bool = False,
) -> None:
    """Builds the programs of a cluster with these components, and the images of a real node.

    With all components, a real node is included if this machine can have one. `torch`: build the
    image with PyTorch, too. `beside`: build the programs that tests start beside a cluster, too.
    Raises LocalClusterError, Interrupted.
    """
    everything = components == ON_REQUEST.keys()
    real_node = real_node or (everything and not requirements.missing())
    options = ClusterOptions(components, real_node=real_node, kueue=kueue)
    check(options)
    interruptible(_build(options, reporter_for(), BESIDE if beside else ()))
    if torch:
        interruptible(torch_image(reporter_for()))


async def _build(options: ClusterOptions, reporter: Reporter, beside: Sequence[str]) -> None:
    cache = BuildCache(programs_folder(), await find_go(), reporter)
    kubectl = [] if await find_kubectl() else ["kubectl"]
    names = [*programs_of(options), *kubectl, *beside]
    await cache.ensure([component(name, options.kueue) for name in names])
    if options.real_node:
        await ensure_images(reporter)
        await workload_image(reporter)
