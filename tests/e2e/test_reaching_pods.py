"""`appwrapper shell` and `port-forward` under a member's rights, to containers of a real node."""

import asyncio
import os
import pty
import re
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

import pytest

from tests.e2e.containers import job
from tests.e2e.research_team import TEAM, ResearchTeam
from tests.support.builders.appwrappers import appwrapper
from tests.support.cluster.life import Life
from tests.support.manifests import ROOT
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

SERVES = "cd /tmp && echo it is here > page && exec python3 -m http.server 8000 --bind 127.0.0.1"
_ADDRESS = re.compile(rb"127\.0\.0\.1:(\d+) -> port \d+ of ")


async def command(
    team: ResearchTeam, *words: str, stdin: int = PIPE, stdout: int = PIPE
) -> Process:
    where = ("--kubeconfig", str(team.researcher.kubeconfig), "-n", TEAM)
    name, *rest = words
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", name, *where, *rest),
        cwd=ROOT,
        stdin=stdin,
        stdout=stdout,
        stderr=PIPE,
    )


async def ended(team: ResearchTeam, *words: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    running = await command(team, *words)
    out, err = await running.communicate(stdin)
    assert running.returncode is not None
    return running.returncode, out, err


async def served(team: ResearchTeam) -> Life:
    life = await team.submit(appwrapper("reached", job("reached", SERVES)))
    await team.running_pod("reached")
    return life


async def test_a_member_reaches_into_a_running_pod(team: ResearchTeam) -> None:
    life = await served(team)
    script = "cat; echo oh >&2; exit 7"
    code, out, err = await ended(
        team, "shell", "reached", "--", "sh", "-c", script, stdin=b"\0\xff"
    )
    assert (code, out, err) == (7, b"\0\xff", b"oh\n")
    code, out, _ = await ended(team, "shell", "reached", stdin=b"echo $((40 + 2)); exit 3\n")
    assert (code, out) == (3, b"42\n")
    code, _, err = await ended(team, "shell", "reached", "--", "no-such-program")
    assert code == 2
    assert b"did not start no-such-program: " in err
    await on_a_terminal(team)
    await through_a_port(team, life)


async def on_a_terminal(team: ResearchTeam) -> None:
    """A shell on a pseudo-terminal, whose size the pod learns."""
    person, own = pty.openpty()
    try:
        os.set_blocking(person, False)
        shell = await command(team, "shell", "reached", stdin=own, stdout=own)
        os.write(person, b"tty && stty size; exit 5\r")
        assert await shell.wait() == 5
        shown = b""
        with suppress(BlockingIOError, OSError):
            while data := os.read(person, 4096):
                shown += data
        assert b"/dev/pts/" in shown
    finally:
        os.close(person)
        os.close(own)


async def through_a_port(team: ResearchTeam, life: Life) -> None:
    """Two connections, a port on which no program listens, and the end of the attempt."""
    forward = await command(team, "port-forward", "reached", "0:8000")
    unused = await command(team, "port-forward", "reached", "0:8001")
    assert forward.stdout is not None
    assert unused.stdout is not None
    assert unused.stderr is not None
    port, other = [await address(each) for each in (forward.stdout, unused.stdout)]
    whole = b"\r\n\r\nit is here\n"
    await comes_to(lambda: ends(port, whole), True)  # the server may still start
    assert await ends(port, whole)
    assert await page(other) == b""
    assert b"no program listens on it" in await unused.stderr.readline()
    await team.delete("reached")
    await life.until_deleted()
    _, err = await forward.communicate()
    assert (forward.returncode, unused.returncode or await unused.wait()) == (1, 1)
    assert b"reached" in err


async def address(stream: asyncio.StreamReader) -> int:
    found = _ADDRESS.match(await stream.readline())
    assert found is not None
    return int(found[1])


async def ends(port: int, end: bytes) -> bool:
    return (await page(port)).endswith(end)


async def page(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /page HTTP/1.0\r\n\r\n")
    found = await reader.read()
    writer.close()
    return found
