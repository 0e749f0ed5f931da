"""With real children: what is tested is what the kernel does with them."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localcluster.machine.child import Child, captured
from localcluster.machine.errors import DiskFull, ProcessFailed
from localcluster.machine.processes import Processes, ProcessSpec
from localcluster.machine.waiting import Probe


async def ready() -> str | None:
    return None


async def never() -> str | None:
    return "it says 503"


def shell(script: str, probe: Probe = ready, name: str = "thing", **fields: object) -> ProcessSpec:
    return ProcessSpec(name, ("/bin/sh", "-c", script), probe, **fields)  # type: ignore[arg-type]


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path / "logs")


def says(path: Path, text: str) -> Probe:
    """Ready when the file holds the text."""

    async def ask() -> str | None:
        return None if path.exists() and text in path.read_text() else f"no {text}"

    return ask


async def test_process_that_ends_early_is_named_with_its_last_words(processes: Processes) -> None:
    script = 'i=0; while [ $i -lt 25 ]; do i=$((i+1)); echo "line $i"; done; exit 7'
    with pytest.raises(ProcessFailed) as caught:
        await processes.start(shell(script, never))
    shown = "\n".join(f"line {number}" for number in range(6, 26))
    log = processes.logs / "thing.log"
    assert str(caught.value) == (
        f"thing ended with exit code 7 before it was ready. Its last output:\n\n{shown}\n\n"
        f"The whole log is {log}."
    )
    assert processes["thing"].state == "exited with 7"


async def test_trace_of_a_go_program_is_not_shown_but_its_reason_is(processes: Processes) -> None:
    script = (
        "echo 'panic: failed to create WAL'; echo; echo 'goroutine 1 gp=0x1 m=0 [running]:';"
        " i=0; while [ $i -lt 25 ]; do i=$((i+1)); echo 'main.go:31'; done; exit 2"
    )
    with pytest.raises(ProcessFailed) as caught:
        await processes.start(shell(script, never))
    assert str(caught.value) == (
        "thing ended with exit code 2 before it was ready. Its last output:\n\n"
        f"panic: failed to create WAL\n\nThe whole log is {processes.logs / 'thing.log'}."
    )


async def test_process_without_output(processes: Processes) -> None:
    with pytest.raises(ProcessFailed) as caught:
        await processes.start(shell("exit 1", never))
    assert str(caught.value) == (
        "thing ended with exit code 1 before it was ready."
        f" It wrote nothing to its log, {processes.logs / 'thing.log'}."
    )


async def test_process_that_does_not_become_ready(processes: Processes) -> None:
    with pytest.raises(ProcessFailed) as caught:
        await processes.start(shell("echo hello; exec sleep 60", never, deadline=0.2))
    assert str(caught.value).startswith("thing was not ready after 0 s: it says 503.")
    await processes.stop_all()
    assert processes["thing"].state == "stopped"


async def test_busy_port_is_distinguished_from_other_errors(processes: Processes) -> None:
    script = "echo 'listen tcp 127.0.0.1:20000: bind: address already in use'; exit 1"
    with pytest.raises(ProcessFailed) as caught:
        await processes.start(shell(script, never, address="https://127.0.0.1:20000"))
    assert str(caught.value).startswith(
        "thing could not listen: another program took its port (https://127.0.0.1:20000) in the"
        " meantime. Start the cluster again; it will choose other ports."
    )


async def test_full_disk_is_distinguished_from_other_errors(processes: Processes) -> None:
    script = "echo 'wal: write: no space left on device'; exit 1"
    with pytest.raises(DiskFull) as caught:
        await processes.start(shell(script, never))
    assert str(caught.value).startswith("The disk is full: thing ended because it could not write.")


async def test_program_that_is_not_there(processes: Processes) -> None:
    with pytest.raises(ProcessFailed) as caught:
        await processes.start(ProcessSpec("thing", ("/nowhere/thing",), ready))
    assert str(caught.value).startswith("thing cannot be started: [Errno 2] No such file")


async def test_higher_tiers_are_stopped_first(processes: Processes, tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    for name, tier in (("low", 0), ("high", 3), ("middle", 1)):
        script = f"trap 'echo {name} >> {ended}; exit' TERM; echo up; while :; do sleep 0.01; done"
        probe = says(processes.logs / f"{name}.log", "up")
        await processes.start(shell(script, probe, name, tier=tier))
    await processes.stop_all()
    assert ended.read_text().split() == ["high", "middle", "low"]
    assert {process.state for process in processes.values()} == {"stopped"}


async def test_process_that_ignores_sigterm_is_killed(processes: Processes) -> None:
    probe = says(processes.logs / "thing.log", "up")
    await processes.start(shell("trap '' TERM; echo up; while :; do sleep 0.01; done", probe))
    await processes.stop("thing", patience=0.1)
    assert processes["thing"].child.exit_code == -signal.SIGKILL


async def test_restart_goes_on_in_the_same_log(processes: Processes) -> None:
    probe = says(processes.logs / "thing.log", "up")
    first = await processes.start(shell("echo up; exec sleep 60", probe))
    second = await processes.restart("thing")
    assert first.pid != second.pid
    assert processes["thing"] is second
    await until(lambda: first.log.read_text() == "up\nup\n")
    await processes.stop("thing", patience=0)


async def test_running_process_is_not_started_twice(processes: Processes) -> None:
    await processes.start(shell("exec sleep 60"))
    with pytest.raises(ValueError, match=r"^thing is running already$"):
        await processes.start(shell("exec sleep 60"))
    await processes.stop_all()


async def test_change_is_reported_when_a_process_ends_by_itself(processes: Processes) -> None:
    changed = asyncio.Event()
    await processes.start(shell("read -r _ < /dev/null; exit 3"))
    processes.on_change(changed.set)
    await changed.wait()
    assert processes["thing"].state == "exited with 3"


async def test_program_gets_only_the_environment_it_needs(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somebody/elses")
    with pytest.raises(ProcessFailed, match="kubeconfig= own=1"):
        await processes.start(
            shell('echo "kubeconfig=$KUBECONFIG own=$OWN"; exit 1', never, environment={"OWN": "1"})
        )


PARENT = """
import asyncio, sys
from localcluster.machine.child import Child

async def main():
    child = Child(("/bin/sh", "-c", sys.argv[1]), output=1, own_group=sys.argv[2] == "group")
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("script", "group"),
    [
        pytest.param("echo $$; exec sleep 1000", "alone", id="a child"),
        pytest.param("sleep 1000 & echo $$ $!; wait", "group", id="a group leader's own child too"),
    ],
)
async def test_children_die_with_a_killed_parent(script: str, group: str, tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    with printed.open("wb") as output:
        parent = Child(
            (sys.executable, "-c", PARENT, script, group),
            output=output,
            environment=dict(os.environ) | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        await until(lambda: printed.read_text().endswith("\n"))
    pids = [int(pid) for pid in printed.read_text().split()]
    assert [is_alive(pid) for pid in pids] == [True] * len(pids)
    parent.signal(signal.SIGKILL)
    await parent.wait()
    await until(lambda: not any(is_alive(pid) for pid in pids))


async def until(condition: Callable[[], bool]) -> None:
    """Asks again and again: nothing tells when the kernel has ended a stranger's child."""
    while True:
        if condition():
            return
        await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it ended before, or just now
        return False


async def test_captured_gives_exit_code_and_both_streams() -> None:
    assert await captured(("/bin/sh", "-c", "echo out; echo err >&2; exit 3")) == (3, "out\nerr\n")


async def test_captured_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    running = asyncio.create_task(captured(("/bin/sh", "-c", f"echo $$ > {note}; exec sleep 1000")))
    await until(lambda: note.exists() and note.read_text().endswith("\n"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_alive(int(note.read_text()))


async def test_a_group_that_cannot_be_started_leaves_no_process(tmp_path: Path) -> None:
    with (tmp_path / "printed").open("wb") as output, pytest.raises(FileNotFoundError):
        Child((str(tmp_path / "missing"),), output=output, own_group=True)
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert [pid for pid in children if b"read -r group" in cmdline(pid)] == []


def cmdline(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
