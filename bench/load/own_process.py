"""Runs a module of this package in a process of its own, so that no other work slows it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent.parent


@asynccontextmanager
async def own_process(
    module: str, *arguments: str, errors: int | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs it inside the context, with pipes; what still runs at its end is killed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors, cwd=_ROOT,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
