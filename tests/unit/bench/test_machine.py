import os
import time
from pathlib import Path

import pytest

from bench.machine import CpuSpent, Usage, usage

TICKS = os.sysconf("SC_CLK_TCK")


def process(root: Path, process_id: int, user: int, system: int, kilobytes: int | None) -> None:
    folder = root / str(process_id)
    folder.mkdir()
    # The name may hold spaces and parentheses; fields are counted from the last one.
    (folder / "stat").write_text(
        f"{process_id} (a) b (c) S 1 1 1 0 -1 0 0 0 0 0 {user * TICKS} {system * TICKS} 7 7 20 0\n"
    )
    memory = "" if kilobytes is None else f"VmHWM:\t {2 * kilobytes} kB\nVmRSS:\t {kilobytes} kB\n"
    (folder / "status").write_text(f"Name:\ta: b\n{memory}Threads:\t1\n")


def test_usage_adds_up_user_and_system_time_and_memory(tmp_path: Path) -> None:
    process(tmp_path, 10, user=3, system=1, kilobytes=2048)
    process(tmp_path, 11, user=5, system=0, kilobytes=1024)
    assert usage([10, 11], tmp_path) == Usage(9.0, resident_mib=3.0, peak_mib=6.0)


def test_an_idle_machine_has_no_users(tmp_path: Path) -> None:
    assert usage([], tmp_path) == Usage(0.0, resident_mib=0.0, peak_mib=0.0)


def test_a_process_without_memory_has_ended(tmp_path: Path) -> None:
    process(tmp_path, 10, user=1, system=0, kilobytes=None)
    assert usage([10], tmp_path) == Usage(1.0, resident_mib=0.0, peak_mib=0.0)


def test_a_missing_process_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProcessLookupError, match=r"^process 12 is not there any more$"):
        usage([12], tmp_path)


def test_cpu_time_is_counted_from_the_beginning_to_the_end_of_the_context() -> None:
    with CpuSpent([os.getpid()]) as spent:
        began = time.process_time()
        while time.process_time() - began < 0.1:
            pass
    assert 0.08 <= spent.seconds < 5
