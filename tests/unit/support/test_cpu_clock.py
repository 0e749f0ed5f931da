from pathlib import Path

import pytest

from tests.support.cpu_clock import _TICKS_PER_SECOND, CpuClock

RUNNER, CLUSTER, ETCD, STRANGER = 1, 2, 3, 4
NAMES = {RUNNER: "pytest", CLUSTER: "host (of it)", ETCD: "etcd", STRANGER: "stranger"}
CHILDREN = {RUNNER: "2 ", CLUSTER: "3 ", ETCD: "", STRANGER: ""}


class Processes:
    """A folder like /proc, with a process, a child, a child of that child, and a stranger."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for pid, children in CHILDREN.items():
            thread = folder / str(pid) / "task" / str(pid)
            thread.mkdir(parents=True)
            (thread / "children").write_text(children)
            self.used(pid)

    def used(self, pid: int, own: float = 0.0, ended_children: float = 0.0) -> None:
        """Each is split between user's and system's time."""
        half = _TICKS_PER_SECOND / 2
        times = " ".join(
            f"{each * half:.0f}" for each in (own, own, ended_children, ended_children)
        )
        stat = f"{pid} ({NAMES[pid]}) S 0 1 2 3 4 5 6 7 8 9 {times} 20"
        (self._folder / str(pid) / "stat").write_text(stat)

    def ends(self, pid: int) -> None:
        (self._folder / str(pid) / "stat").unlink()


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


@pytest.fixture
def clock(processes: Processes, tmp_path: Path) -> CpuClock:
    return CpuClock(RUNNER, tmp_path)


def test_a_program_that_still_runs_counts_when_it_computes(
    processes: Processes, clock: CpuClock
) -> None:
    processes.used(RUNNER, 1.0)
    processes.used(ETCD, 10.0)
    processes.used(STRANGER, 100.0)
    assert clock.since_last() == 11.0
    processes.used(ETCD, 12.0, ended_children=3.0)
    assert clock.since_last() == 5.0
    assert clock.since_last() == 0.0


def test_a_program_that_ends_is_not_counted_again(processes: Processes, clock: CpuClock) -> None:
    processes.used(ETCD, 10.0)
    assert clock.since_last() == 10.0
    processes.ends(ETCD)
    processes.used(CLUSTER, 0.0, ended_children=10.5)
    assert clock.since_last() == 0.5


def test_a_program_that_lost_its_parent_takes_nothing_away(
    processes: Processes, clock: CpuClock
) -> None:
    processes.used(ETCD, 10.0)
    clock.since_last()
    processes.ends(ETCD)
    assert clock.since_last() == 0.0


def test_programs_are_named_the_most_expensive_first(processes: Processes, clock: CpuClock) -> None:
    processes.used(RUNNER, 0.9)
    processes.used(CLUSTER, 2.0, ended_children=5.0)
    processes.used(ETCD, 10.0)
    clock.since_last()
    assert clock.by_program() == "etcd 10 s, others 5 s, host (of it) 2 s"
    processes.ends(ETCD)
    processes.used(CLUSTER, 2.0, ended_children=15.0)
    clock.since_last()
    assert clock.by_program() == "etcd 10 s, others 5 s, host (of it) 2 s"


def test_a_python_program_is_named_by_its_module(
    processes: Processes, clock: CpuClock, tmp_path: Path
) -> None:
    for pid, command in ((CLUSTER, "python3 -c pass"), (ETCD, "python -I -m controller -m x")):
        stat = tmp_path / str(pid) / "stat"
        processes.used(pid, 4.0 * pid)
        stat.write_text(stat.read_text().replace(NAMES[pid], "python3"))
        (tmp_path / str(pid) / "cmdline").write_text(command.replace(" ", "\0") + "\0")
    clock.since_last()
    assert clock.by_program() == "controller 12 s, python3 8 s"


def test_this_process_has_used_some_time() -> None:
    assert CpuClock().since_last() > 0.0
