"""However a cluster with a real node ends, nothing of it is left on this machine.

Seen from outside the node's namespaces: interfaces, routes, iptables rules, mounts, cgroups,
processes, folders, kernel settings, and temporary files.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.clients import connect_patiently
from localcluster.machine.slowness import stretched
from localcluster.state import ClusterState, read_state
from shared.api.objects import PODS
from tests.e2e.traces import Traces, comes_to_nothing_but, traces
from tests.support.cluster.simulated_pods import service_account_exists
from tests.support.manifests import ROOT
from tests.support.patience import comes_to
from tests.support.sandbox import Sandbox, until_no_process_of

pytestmark = pytest.mark.long

SECONDS = stretched(240.0)
# What a running node is seen by. It mounts nothing, writes no rule, and sets nothing, outside.
OF_A_NODE = {"interfaces", "routes", "groups", "processes"}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "holds"},
    "spec": {
        "nodeSelector": {"appwrapper.localcluster.dev/real": "true"},
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "main",
                "image": "localhost/appwrapper-pause:1",
                "imagePullPolicy": "Never",
            }
        ],
    },
}


class Commands:
    """`python -m localcluster` for one cluster, with temporary files of its own."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.directory = sandbox.folder / "tmp" / "cluster"

    async def start(self, command: str, *options: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "localcluster", command, "--dir", str(self.directory)),
            *options,
            cwd=ROOT,
            env=os.environ | self.sandbox.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            process_group=0,
        )

    async def up(self) -> asyncio.subprocess.Process:
        """Not the product: a node that pods of any image run on is enough."""
        return await self.start("up", "--real-node", "--without-product", "--nodes=0")

    async def down(self) -> str:
        output, _ = await (await self.start("down")).communicate()
        return output.decode()

    def state(self) -> ClusterState | None:
        return read_state(self.directory)

    async def until(self, name: str) -> ClusterState:
        """Returns when the program of that name was started."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            state = self.state()
            if state is not None and name in {each.name for each in state.processes}:
                return state
            await asyncio.sleep(0.02)
        raise AssertionError(f"{name} was not started within {SECONDS:.0f} s: {self.state()}")


@pytest.fixture
def before(tmp_path: Path) -> Traces:
    return traces(tmp_path)


@pytest_asyncio.fixture
async def commands(sandbox: Sandbox, before: Traces) -> AsyncIterator[Commands]:
    made = Commands(sandbox)
    yield made
    await made.down()  # where the test failed before it did


@pytest_asyncio.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    (tmp_path / "tmp").mkdir()
    yield Sandbox(tmp_path)
    await until_no_process_of(tmp_path)


async def with_a_pod(commands: Commands, before: Traces) -> int:
    """Starts a cluster, and a pod in it; the process that all ends with."""
    up = await commands.up()
    output, _ = await up.communicate()
    assert up.returncode == 0, output.decode()
    state = commands.state()
    assert state is not None
    client = await connect_patiently(Path(state.kubeconfig), "test")
    try:
        await service_account_exists(client, "default")
        await client.create(PODS, "default", POD)

        async def phase() -> Any:
            pod = await client.get(PODS, "default", "holds")
            return pod["status"].get("phase")

        await comes_to(phase, "Running")
    finally:
        await client.close()
    folder = commands.sandbox.folder

    async def in_pods() -> set[str]:
        processes = traces(folder, state.pid).processes
        return {each for each in processes if each.startswith("in a pod")}

    await comes_to(in_pods, {"in a pod: /pause "})
    different = traces(folder, state.pid).beyond(before)
    assert different.keys() == OF_A_NODE, different
    return state.pid


async def nothing_is_left(commands: Commands, before: Traces, owner: int | None) -> None:
    await comes_to_nothing_but(set(), commands.sandbox.folder, before, owner)
    assert commands.sandbox.temporary == []


async def test_after_down(commands: Commands, before: Traces) -> None:
    owner = await with_a_pod(commands, before)
    assert await commands.down() == f"Stopped the cluster in {commands.directory}.\n"
    await nothing_is_left(commands, before, owner)


async def test_after_an_interrupt_of_its_process_while_pods_run(
    commands: Commands, before: Traces
) -> None:
    owner = await with_a_pod(commands, before)
    os.killpg(owner, signal.SIGINT)
    await nothing_is_left(commands, before, owner)


@pytest.mark.parametrize("moment", ["kube-apiserver", "kubelet"])
async def test_after_an_interrupt_while_it_starts(
    commands: Commands, before: Traces, moment: str
) -> None:
    up = await commands.up()
    state = await commands.until(moment)
    assert not state.ready
    os.killpg(up.pid, signal.SIGINT)
    output, _ = await up.communicate()
    assert (up.returncode, output.decode().splitlines()[-1]) == (
        130,
        "Stopped; nothing is left running.",
    )
    await nothing_is_left(commands, before, state.pid)


async def test_after_its_process_was_killed_while_it_starts(
    commands: Commands, before: Traces
) -> None:
    up = await commands.up()
    state = await commands.until("kube-apiserver")  # there is a network already
    os.kill(state.pid, signal.SIGKILL)
    output, _ = await up.communicate()
    assert up.returncode == 1, output.decode()
    # The node's cgroups come seconds later: a signal that is late finds them there.
    where = (commands.sandbox.folder, before, state.pid)
    await comes_to_nothing_but(set(), *where, perhaps=frozenset({"groups"}))
    assert commands.sandbox.temporary == ["cluster"]

    assert await commands.down() == f"Removed what a killed run left in {commands.directory}.\n"
    await nothing_is_left(commands, before, state.pid)


async def test_only_files_and_empty_cgroups_outlive_kill_9_and_down_removes_them(
    commands: Commands, before: Traces
) -> None:
    owner = await with_a_pod(commands, before)
    os.kill(owner, signal.SIGKILL)
    await comes_to_nothing_but({"groups"}, commands.sandbox.folder, before, owner)
    assert commands.sandbox.temporary == ["cluster"]

    assert await commands.down() == f"Removed what a killed run left in {commands.directory}.\n"
    await nothing_is_left(commands, before, owner)
