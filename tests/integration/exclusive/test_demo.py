"""`make demo`, as a stranger meets it: the samples, the commands it ends with, Ctrl-C, kill -9."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from localcluster.demo.scenario import SCENARIO
from localcluster.machine.child import captured
from tests.support.manifests import ROOT
from tests.support.sandbox import Sandbox, until_no_process_of

pytestmark = pytest.mark.long

REACHED = f"All {len(SCENARIO)} samples reached their expected end"
STAYS = "The cluster stays up until Ctrl-C."
LOGS = "Logs of every component:"
EXPLAINED_TOO_BIG = (
    "$ appwrapper explain too-big-pytorchjob -n team1 too-big-pytorchjob can never start: it asks"
    " for 65 nvidia.com/gpu, and ClusterQueue team1-cluster-queue can have 64 at most."
)
EXPLAINED_WAITING = (
    "$ appwrapper explain waits-for-quota -n team1 waits-for-quota waits for quota: it asks for 8"
    " nvidia.com/gpu, and 0 of 64 are free in ClusterQueue team1-cluster-queue."
)
STARTED = "ok   start etcd and the API server"


class Demo:
    """A running `make demo` and what it has printed so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.lines)

    async def until(self, wanted: str) -> None:
        """Reads on until a line has the text."""
        assert self.process.stdout is not None
        while not (self.lines and wanted in self.lines[-1]):
            line = await self.process.stdout.readline()
            assert line, f"ended before it said {wanted!r}:\n{self.text}"
            self.lines.append(line.decode())

    async def end(self) -> int:
        """Reads the rest; the exit code."""
        assert self.process.stdout is not None
        self.lines.append((await self.process.stdout.read()).decode())
        return await self.process.wait()

    def make_and_demo(self) -> tuple[int, int]:
        """The process of make, and that of the demo below it."""
        below = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return self.process.pid, int(below.split()[0])


@asynccontextmanager
async def demo(sandbox: Sandbox, *arguments: str) -> AsyncIterator[Demo]:
    environment = {**os.environ, **sandbox.environment}
    for inherited in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # a person's make is not below another
        environment.pop(inherited, None)
    process = await asyncio.create_subprocess_exec(
        "make",
        "demo",
        *arguments,
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        process_group=0,
    )
    try:
        yield Demo(process)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def test_the_demo_shows_every_sample_and_its_commands_work(sandbox: Sandbox) -> None:
    async with demo(sandbox) as running:
        await running.until(LOGS)
        assert REACHED in running.text, running.text
        assert EXPLAINED_TOO_BIG in " ".join(running.text.split()), running.text
        assert EXPLAINED_WAITING in " ".join(running.text.split()), running.text
        assert "spec.components[0].template: Forbidden: apps/DaemonSet may not be wrapped" in (
            running.text
        )
        printed = running.text.partition(STAYS)[2].partition(LOGS)[0]
        commands = [line.strip() for line in printed.splitlines() if line.startswith("  ")]
        assert [line for line in commands if line.startswith("kubectl")]
        script = "\n".join(["set -euo pipefail", *commands])
        code, output = await captured(("bash", "-c", script), folder=Path("/"))
        assert code == 0, output
        assert "appwrapper.workload.codeflare.dev/sample-job created" in output

        os.killpg(running.process.pid, signal.SIGINT)
        await running.end()
        assert running.lines[-1].strip().startswith("Stopped; nothing is left running."), (
            running.text
        )
    await until_no_process_of(sandbox.folder)
    assert sandbox.temporary == []


@pytest.mark.parametrize("victim", ["make", "the demo"])
async def test_kill_9_leaves_no_process(sandbox: Sandbox, victim: str) -> None:
    async with demo(sandbox, "ONCE=1") as running:
        await running.until(STARTED)
        make, below = running.make_and_demo()
        os.kill(make if victim == "make" else below, signal.SIGKILL)
        await running.end()
        await until_no_process_of(sandbox.folder)
