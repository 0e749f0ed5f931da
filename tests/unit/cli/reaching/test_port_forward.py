"""`appwrapper port-forward`: connections on loopback, and the end of the attempt."""

import asyncio
import io
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from cli.command import CommandError, ExitCode
from cli.main import build_parser
from cli.reaching import port_forward
from cli.reaching.ending import why_over
from cli.reaching.target import Target
from cli.terminal import CommandTerminal
from shared.api.appwrapper import AppWrapper
from shared.kube.client import ApiError, Forbidden
from shared.kube.pod_channels import DATA, ERROR
from tests.support.builders.explained.objects import RUNS, ago, pod
from tests.support.command import appwrapper as command
from tests.support.fakes.log_session import train
from tests.support.fakes.reached_pods import (
    ReachedPods,
    ScriptedChannels,
    Step,
    reachable,
    until_sent,
)

HEADER = (6006).to_bytes(2, "little")
BEGINS: list[Step] = [(DATA, HEADER), (ERROR, HEADER)]
TARGET = "/api/v1/namespaces/team1/pods/train-0-x7k2p/portforward?ports=6006"


class Output(io.StringIO):
    """`written`: set by the first text."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


class Forwarding(NamedTuple):
    task: "asyncio.Task[ExitCode]"
    port: int
    stdout: io.StringIO
    stderr: io.StringIO

    async def exchanged(self, sent: bytes, *, wanted: int = -1) -> bytes:
        """Returns what a local program reads that sends these bytes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        try:
            got = await (reader.read() if wanted < 0 else reader.readexactly(wanted))
        except ConnectionResetError:  # it was closed before it read all
            got = b""
        writer.close()
        return got


@asynccontextmanager
async def forwarding(*words: str) -> AsyncIterator[Forwarding]:
    """Runs the command until the block ends."""
    stdout, stderr = Output(), io.StringIO()
    parsed = build_parser(["port-forward"]).parse_args(["port-forward", *words])
    terminal = CommandTerminal(io.StringIO(), stdout, stderr, {})
    task = asyncio.create_task(port_forward.run(parsed, terminal))
    async with asyncio.timeout(20):
        written = asyncio.create_task(stdout.written.wait())
        await asyncio.wait({written, task}, return_when=asyncio.FIRST_COMPLETED)
        written.cancel()
        address = stdout.getvalue().partition(" ")[0]
        try:
            yield Forwarding(task, int(address.rpartition(":")[2] or 0), stdout, stderr)
        finally:
            task.cancel()
            await asyncio.wait({task})


async def test_several_connections_one_after_the_other_and_at_once(pods: ReachedPods) -> None:
    other = asyncio.Event()

    async def until_other(_: ScriptedChannels) -> None:
        await other.wait()

    pods.scripts = [
        [*BEGINS, until_sent((DATA, b"a")), until_other, (DATA, b"first")],
        [*BEGINS, (DATA, b"sec"), (DATA, b"ond")],
    ]
    async with forwarding("train", "0:6006") as command:
        first = asyncio.create_task(command.exchanged(b"a"))
        await pods.has_opened.wait()
        assert await command.exchanged(b"b") == b"second"
        other.set()
        assert await first == b"first"
        assert not command.task.done()
        assert command.stdout.getvalue() == (
            f"127.0.0.1:{command.port} -> port 6006 of train-0-x7k2p (rank 0)\n"
        )
        assert command.stderr.getvalue() == ""
    assert [each.target for each in pods.reached] == [TARGET, TARGET]


async def test_only_this_machines_programs_reach_it(pods: ReachedPods) -> None:
    """127.0.0.2 is another address of this machine, so all addresses would include it."""
    async with forwarding("train", "0:6006") as command:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.2", command.port)


async def test_a_failed_connection_is_noted_and_the_next_one_works(pods: ReachedPods) -> None:
    refused = b"error forwarding port 6006 to pod 4b2, uid : dial tcp4: connection refused"
    pods.scripts = [
        [*BEGINS, (ERROR, refused)],
        [*BEGINS, (ERROR, b"no route")],
        ApiError(500, "InternalError", 'Get "https://10.0.0.1:10250/": dial tcp: i/o timeout'),
        [*BEGINS, (DATA, b"ok")],
    ]
    async with forwarding("train", "0:6006") as command:
        assert [await command.exchanged(b"x") for _ in range(4)] == [b"", b"", b"", b"ok"]
        assert command.stderr.getvalue().splitlines() == [
            "note: port 6006 of train-0-x7k2p: no program listens on it (connection refused)",
            "note: port 6006 of train-0-x7k2p: no route",
            "note: a connection to train-0-x7k2p ended: its node does not answer (dial tcp: i/o"
            " timeout)",
        ]


async def test_a_program_that_sends_no_more_still_reads(pods: ReachedPods) -> None:
    pods.scripts = [[*BEGINS, until_sent((DATA, b"GET")), (DATA, b"page")]]
    async with forwarding("train", "0:6006") as command:
        reader, writer = await asyncio.open_connection("127.0.0.1", command.port)
        writer.write(b"GET")
        writer.write_eof()
        assert await reader.read() == b"page"
        writer.close()


async def test_a_connection_that_the_program_closes_ends(pods: ReachedPods) -> None:
    closed = asyncio.Event()

    async def never(_: ScriptedChannels) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()

    pods.scripts = [[*BEGINS, (DATA, b"1"), never]]
    async with forwarding("train", "0:6006") as command:
        assert await command.exchanged(b"x", wanted=1) == b"1"
        await closed.wait()
        assert not command.task.done()


async def test_a_connection_ends_whose_program_leaves_while_the_pod_sends(
    pods: ReachedPods,
) -> None:
    async def sends(channels: ScriptedChannels) -> None:
        await asyncio.sleep(0)
        channels.steps += [(DATA, b"1" * 1000), sends]

    pods.scripts = [[*BEGINS, (DATA, b"1"), sends]]
    async with forwarding("train", "0:6006") as command:
        assert await command.exchanged(b"x", wanted=1) == b"1"
        await pods.opened[0].closed.wait()
        assert not command.task.done()
        assert command.stderr.getvalue() == ""


async def test_an_answer_that_never_comes_is_noted(pods: ReachedPods) -> None:
    async def never(_: ScriptedChannels) -> None:
        await asyncio.Event().wait()

    pods.scripts = [
        [*BEGINS, until_sent((DATA, b"GET")), never],
        [*BEGINS, until_sent((DATA, b"GET")), (DATA, b"page"), never],
    ]
    async with forwarding("train", "0:6006") as command:
        for expected in (b"", b"page"):
            reader, writer = await asyncio.open_connection("127.0.0.1", command.port)
            writer.write(b"GET")
            writer.write_eof()
            assert await reader.read() == expected
            writer.close()
        assert command.stderr.getvalue() == (
            "note: a connection to train-0-x7k2p ended: the local program sends no more, and port"
            " 6006 did not answer within 60 seconds\n"
        )


async def test_a_missing_right_to_watch_is_named_as_such(
    pods: ReachedPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> AsyncIterator[None]:
        raise Forbidden(403, "Forbidden", "cannot watch pods")

    monkeypatch.setattr(pods, "watch", refused)
    async with forwarding("train", "0:6006") as command:
        with pytest.raises(Forbidden, match="cannot watch pods"):
            await command.task


async def test_a_missing_right_ends_the_command(pods: ReachedPods) -> None:
    pods.scripts = [Forbidden(403, "Forbidden", "no")]
    async with forwarding("train", "0:6006") as command:
        await command.exchanged(b"x")
        with pytest.raises(CommandError, match="the verbs get and create on pods/portforward"):
            await command.task


@pytest.mark.parametrize("phase", ["Resetting", "Succeeded"])
async def test_it_ends_with_the_attempt(pods: ReachedPods, phase: str) -> None:
    async with forwarding("train", "0:6006", "--rank", "1") as command:
        pods.put("appwrappers", train(phase))
        assert await command.task == ExitCode.WANTING
        assert command.stderr.getvalue() == f"note: attempt 1 has ended: train is {phase}\n"


async def test_it_ends_with_the_pod(pods: ReachedPods) -> None:
    async with forwarding("train", "0:6006") as command:
        pods.put("pods", pod(0, "Succeeded"))
        assert await command.task == ExitCode.WANTING
        assert command.stderr.getvalue() == "note: train-0-x7k2p has ended\n"


async def test_a_used_port_names_the_next_step(pods: ReachedPods) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with forwarding("train", f"{port}:80") as running:
            with pytest.raises(CommandError) as caught:
                await running.task
    other = port + 10000 if port < 50000 else 0
    assert str(caught.value) == (
        f"port {port} of this machine cannot be used (Address already in use). Name another one"
        f" before the pod's, such as {other}:80"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("6006", (6006, 6006)), ("1:65535", (1, 65535)), ("0:80", (0, 80)), (":80", (80, 80))],
)
def test_ports(text: str, expected: tuple[int, int]) -> None:
    assert port_forward.ports(text) == expected


@pytest.mark.parametrize("text", ["0", "http", "80:http", "1:2:3", "65536", "65536:1", "-1", ""])
def test_other_ports_are_refused(text: str) -> None:
    with pytest.raises(CommandError, match=r"write \[LOCAL:\]PORT with numbers up to 65535"):
        port_forward.ports(text)


def test_wrong_ports_are_refused_before_the_cluster_is_asked() -> None:
    ended = command("port-forward", "train", "http", "--kubeconfig", "/nowhere")
    assert (ended.code, ended.err.split(":")[:2]) == (2, ["error", " http"])


ASKED = train()
OTHER_UID = train() | {"metadata": ASKED["metadata"] | {"uid": "other"}}
DELETING = train() | {"metadata": ASKED["metadata"] | {"deletionTimestamp": ago(1)}}


@pytest.mark.parametrize(
    ("present", "pod", "expected"),
    [
        (ASKED, reachable(0), ""),
        (None, reachable(0), "train was deleted"),
        (OTHER_UID, reachable(0), "train was deleted"),
        (DELETING, reachable(0), "attempt 1 has ended: train is Terminating"),
        (train(attempt=2), reachable(0), "attempt 1 has ended: train is Running"),
        (ASKED, None, "train-0 was deleted"),
        (ASKED, reachable(1), "train-0 was deleted"),
    ],
)
def test_ends(present: dict[str, object] | None, pod: object, expected: str) -> None:
    target = Target(AppWrapper(ASKED), reachable(0))
    assert why_over(present, pod, target) == expected  # type: ignore[arg-type]


def test_a_pod_that_does_not_run_is_refused(pods: ReachedPods) -> None:
    pods.put("pods", pod(0, containers=[RUNS], attempt=2))
    ended = command("port-forward", "train", "6006", "--rank", "0")
    assert ended.err == "error: train has no pod of rank 0. Its pods have ranks 1 to 1\n"
