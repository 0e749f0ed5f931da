"""Samples the CPU of running programs: of this operator with py-spy, of the API server itself."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bench.errors import BenchError
from bench.metrics import fetch
from bench.profile import pprof
from bench.profile.stacks import StackSample, folded
from localcluster.cluster import LocalCluster

# Each sample stops the program for some milliseconds, since C functions are read too.
_PER_SECOND = 100
_SECONDS = 2


@asynccontextmanager
async def python_samples(process_id: int, file: Path) -> AsyncIterator[list[StackSample]]:
    """Samples one of our programs inside the context; the list is filled at its end.

    Raises BenchError if py-spy is missing or may not read the process.
    """
    program = Path(sys.executable).with_name("py-spy")
    if not program.exists():
        raise BenchError(f"{program} is missing: install requirements-dev.lock.")
    process = await asyncio.create_subprocess_exec(
        str(program), "record", "--native", "--rate", str(_PER_SECOND), "--format", "raw",
        "--output", str(file), "--pid", str(process_id), "--duration", "3600",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    samples: list[StackSample] = []
    try:
        await _until_sampling(process, process_id)
        yield samples
        process.send_signal(signal.SIGINT)
        await process.communicate()
        samples += folded(await asyncio.to_thread(file.read_text))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _until_sampling(process: asyncio.subprocess.Process, process_id: int) -> None:
    assert process.stdout is not None
    output = b""
    while line := await process.stdout.readline():
        output += line
        if b"Sampling process" in line:
            return
    raise BenchError(
        f"py-spy cannot read process {process_id} (root may, and every user if"
        f" kernel.yama.ptrace_scope is 0): {output.decode(errors='replace').strip()}"
    )


@asynccontextmanager
async def api_server_samples(cluster: LocalCluster) -> AsyncIterator[list[StackSample]]:
    """Samples the API server inside the context, in profiles of two seconds each.

    The last of them ends up to two seconds after the context's body: the cluster must be idle.
    """
    samples: list[StackSample] = []
    ending = asyncio.Event()

    async def collect() -> None:
        while not ending.is_set():
            profile = await fetch(cluster, f"/debug/pprof/profile?seconds={_SECONDS}")
            samples.extend(StackSample(*each) for each in pprof.samples(profile))

    collecting = asyncio.create_task(collect())
    try:
        yield samples
        ending.set()
        await collecting
    finally:
        collecting.cancel()
        with suppress(asyncio.CancelledError):
            await collecting
