"""A registry of one's own: Debian's docker-registry over plain HTTP, until it is left."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from localcluster.machine.child import Child
from localcluster.machine.slowness import stretched

PROGRAM = "docker-registry"
_LOOK_EVERY_SECONDS = 0.05
_PATIENCE_SECONDS = stretched(120.0)


@asynccontextmanager
async def registry(folder: Path, address: str) -> AsyncGenerator[None]:
    """Serves at `address`, HOST:PORT, and keeps what is pushed in `folder` while it lasts."""
    program = shutil.which(PROGRAM)
    assert program is not None, f"Not installed: {PROGRAM}. On Debian: apt-get install {PROGRAM}"
    folder.mkdir()
    configuration = folder / "configuration.yaml"
    configuration.write_text(
        "version: 0.1\n"
        "log: {level: warn}\n"
        f"storage: {{filesystem: {{rootdirectory: '{folder}/storage'}}}}\n"
        f"http: {{addr: '{address}'}}\n"
    )
    log = folder / "log"
    with log.open("wb") as output:
        child = Child((program, "serve", str(configuration)), output=output)
    try:
        await _until_it_serves(child, f"http://{address}/v2/", log)
        yield
    finally:
        child.kill_now()


async def tags_of(address: str, image: str) -> list[str]:
    """The tags of an image; none if it was not pushed."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{address}/v2/{image}/tags/list") as answer,
    ):
        if answer.status == 404:
            return []
        answer.raise_for_status()
        found: list[str] = (await answer.json())["tags"]
        return found


async def _until_it_serves(child: Child, url: str, log: Path) -> None:
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(url) as answer:
                    if answer.status == 200:
                        return
                    problem = f"HTTP status {answer.status}"
            except aiohttp.ClientError as failure:
                problem = str(failure)
            ended = child.exit_code is not None
            assert not ended, f"{PROGRAM} ended with {child.exit_code}: {log.read_text()}"
            late = asyncio.get_running_loop().time() > deadline
            assert not late, f"{PROGRAM} does not serve: {problem}\n{log.read_text()}"
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
