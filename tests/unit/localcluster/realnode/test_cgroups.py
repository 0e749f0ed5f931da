import os
import subprocess
import sys
from pathlib import Path

import pytest

from localcluster.realnode import cgroups
from localcluster.realnode.cgroups import Hierarchy

MOUNTS = """\
25 20 0:22 / /sys rw,relatime - sysfs sysfs rw
30 25 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
33 30 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
"""


@pytest.fixture
def two(tmp_path: Path) -> list[Hierarchy]:
    """A hierarchy of each version; folders behave as cgroups do, but hold no files."""
    one, other = tmp_path / "cpuset", tmp_path / "unified"
    one.mkdir()
    other.mkdir()
    (other / "cgroup.controllers").write_text("cpu memory\n")
    (other / "cgroup.subtree_control").write_text("memory\n")
    return [Hierarchy(one, 1), Hierarchy(other, 2)]


def names(hierarchies: list[Hierarchy]) -> list[set[str]]:
    return [{path.name for path in each.mount.iterdir() if path.is_dir()} for each in hierarchies]


def test_hierarchies_are_found_once_each() -> None:
    assert cgroups.hierarchies(MOUNTS) == [
        Hierarchy(Path("/sys/fs/cgroup/cpu"), 1),
        Hierarchy(Path("/sys/fs/cgroup/unified"), 2),
    ]


def test_a_directory_is_made_in_every_hierarchy_and_removed_with_all_below(
    two: list[Hierarchy],
) -> None:
    cgroups.create("awnode3-1-2", two)
    assert names(two) == [{"awnode3-1-2"}, {"awnode3-1-2"}]
    (two[0].mount / "awnode3-1-2" / "kubepods" / "pod1").mkdir(parents=True)

    cgroups.remove("awnode3-1-2", two)

    assert names(two) == [set(), set()]


def test_children_get_every_controller_of_version_2(two: list[Hierarchy]) -> None:
    cgroups.create("awnode3-1-2", two)
    # The kernel adds what is written here; only what is not handed on yet is written.
    assert (two[1].mount / "cgroup.subtree_control").read_text() == "+cpu"


def test_removing_what_is_gone_already_is_no_error(two: list[Hierarchy]) -> None:
    cgroups.remove("awnode3-1-2", two)
    assert names(two) == [set(), set()]


def test_the_sweep_removes_what_dead_processes_left_and_nothing_else(two: list[Hierarchy]) -> None:
    mine = cgroups.name_of(0)
    reused = f"awnode1-{os.getpid()}-12"
    dead = "awnode2-99999999-5"
    strange = ("user.slice", "awnode", "awnode3-x-y")
    for name in (mine, reused, dead, *strange):
        (two[0].mount / name / "kubepods").mkdir(parents=True)

    cgroups.sweep(two)

    assert names(two) == [{mine, *strange}, set()]


def test_the_name_contains_the_creating_process() -> None:
    slot, pid, started = cgroups.name_of(5).removeprefix("awnode").split("-")
    assert (slot, pid) == ("5", str(os.getpid()))
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert started == fields[19]


def test_a_zombie_counts_as_ended(two: list[Hierarchy]) -> None:
    with subprocess.Popen((sys.executable, "-c", "input()"), stdin=subprocess.PIPE) as process:
        name = cgroups.name_of(0, process.pid)
        cgroups.create(name, two)
        cgroups.sweep(two)
        assert names(two) == [{name}, {name}]
        assert process.stdin is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # and leave it there
        cgroups.sweep(two)
        assert names(two) == [set(), set()]
