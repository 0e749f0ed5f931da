from pathlib import Path

import pytest

from tests.support.cpu_clock import _TICKS_PER_SECOND, CpuClock

RUNNER, CLUSTER, PROGRAM, STRANGER = 1, 2, 3, 4


class Processes:
    """A folder like /proc, with a process, a child, and a child of that child."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for pid, children in ((RUNNER, "2 "), (CLUSTER, "3 "), (PROGRAM, ""), (STRANGER, "")):
            thread = folder / str(pid) / "task" / str(pid)
            thread.mkdir(parents=True)
            (thread / "children").write_text(children)
            self.used(pid)

    def used(self, pid: int, own: float = 0.0, ended_children: float = 0.0) -> None:
        """Each is split between user's and system's time."""
        halves = [
            each * _TICKS_PER_SECOND / 2 for each in (own, own, ended_children, ended_children)
        ]
        times = " ".join(f"{each:.0f}" for each in halves)
        (self._folder / str(pid) / "stat").write_text(
            f"{pid} (a (b) c) S 0 1 2 3 4 5 6 7 8 9 {times} 20"
        )


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


def test_a_program_that_still_runs_counts_when_it_computes(
    processes: Processes, tmp_path: Path
) -> None:
    clock = CpuClock(RUNNER, tmp_path)
    processes.used(RUNNER, 1.0)
    processes.used(PROGRAM, 10.0)
    processes.used(STRANGER, 100.0)
    assert clock.since_last() == 11.0
    processes.used(PROGRAM, 12.0, ended_children=3.0)
    assert clock.since_last() == 5.0
    assert clock.since_last() == 0.0


def test_a_program_that_ends_is_not_counted_again(processes: Processes, tmp_path: Path) -> None:
    clock = CpuClock(RUNNER, tmp_path)
    processes.used(PROGRAM, 10.0)
    assert clock.since_last() == 10.0
    (tmp_path / str(PROGRAM) / "stat").unlink()
    processes.used(CLUSTER, 0.0, ended_children=10.5)
    assert clock.since_last() == 0.5


def test_a_program_that_lost_its_parent_takes_nothing_away(
    processes: Processes, tmp_path: Path
) -> None:
    clock = CpuClock(RUNNER, tmp_path)
    processes.used(PROGRAM, 10.0)
    clock.since_last()
    (tmp_path / str(PROGRAM) / "stat").unlink()
    assert clock.since_last() == 0.0


def test_this_process_has_used_some_time() -> None:
    assert CpuClock().since_last() > 0.0
