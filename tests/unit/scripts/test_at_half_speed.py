"""The quota of `python -m scripts.at_half_speed`, in both versions of cgroups, and its errors."""

import os
from pathlib import Path

import pytest

from localcluster.realnode import cgroups
from localcluster.realnode.cgroups import Hierarchy
from scripts import at_half_speed
from scripts.at_half_speed import inside, limit, main, share_above, share_of, with_cpu
from scripts.calibration import plan


def written(directory: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in directory.iterdir() if each.is_file()}


@pytest.mark.parametrize(
    ("slowness", "share"), [(0.5, 0.25), (1.0, 0.5), (1.6, 0.8), (2.0, 1.0), (3.0, 1.0)]
)
def test_a_slower_machine_gives_more_of_its_cores(slowness: float, share: float) -> None:
    assert share_of(slowness) == share


@pytest.mark.parametrize(
    ("cores", "share", "quota"), [(1, 0.5, 10_000), (2, 0.8, 32_000), (16, 1.0, 320_000)]
)
def test_a_share_of_all_cores_is_the_quota(
    cores: int, share: float, quota: int, tmp_path: Path
) -> None:
    limit(tmp_path, 1, cores, share)
    old = {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": str(quota)}
    assert written(tmp_path) == old
    limit(tmp_path, 2, cores, share)
    assert written(tmp_path) == old | {"cpu.max": f"{quota} 20000"}


@pytest.mark.parametrize(("share", "quota"), [(0.8, "32000"), (1.0, "-1"), (1.0, "90000")])
def test_below_a_quota_there_is_no_more_than_it(share: float, quota: str, tmp_path: Path) -> None:
    (tmp_path / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (tmp_path / "cpu.cfs_period_us").write_text("20000\n")
    assert share_above(Hierarchy(tmp_path, 1), 2) == share
    assert share_above(Hierarchy(tmp_path, 2), 2) == 1.0  # the root of the machine
    (tmp_path / "cpu.max").write_text(f"{quota.replace('-1', 'max')} 20000\n")
    assert share_above(Hierarchy(tmp_path, 2), 2) == share


def test_the_hierarchy_with_the_cpu_controller_is_chosen(tmp_path: Path) -> None:
    memory, cpu = tmp_path / "memory", tmp_path / "cpu"
    for each in (memory, cpu):
        each.mkdir()
    (cpu / "cpu.cfs_quota_us").write_text("-1")
    unified = tmp_path / "unified"
    unified.mkdir()
    (unified / "cgroup.controllers").write_text("hugetlb cpuset\n")
    found = [Hierarchy(memory, 1), Hierarchy(unified, 2), Hierarchy(cpu, 1)]
    assert with_cpu(found) == Hierarchy(cpu, 1)
    assert with_cpu(found[:2]) is None
    (unified / "cgroup.controllers").write_text("cpuset cpu io\n")
    assert with_cpu(found[:2]) == Hierarchy(unified, 2)


def test_the_cgroup_is_the_root_of_every_hierarchy_for_the_command() -> None:
    where = [Hierarchy(Path("/c/cpu"), 1), Hierarchy(Path("/c/unified"), 2)]
    command = inside("half", where, ("make", "test"))
    unshare = ("unshare", "--mount", "--cgroup", "--propagation", "private", "sh", "-c")
    pairs = ("/c/cpu/half", "/c/cpu", "/c/unified/half", "/c/unified")
    assert (command[:7], command[8:]) == (unshare, ("sh", *pairs, "--", "make", "test"))


def test_it_refuses_clearly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--"]) == 2
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["--", "make"]) == 1
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(cgroups, "hierarchies", lambda: [])
    assert main(["--", "make"]) == 1
    cpu = tmp_path / "cpu"
    monkeypatch.setattr(cgroups, "hierarchies", lambda: [Hierarchy(cpu, 1)])
    monkeypatch.setattr(at_half_speed, "with_cpu", lambda found: found[0])
    monkeypatch.setattr(at_half_speed, "share_above", lambda *_: 1.0)
    monkeypatch.setattr(at_half_speed, "measured", lambda: plan(1.6, 2))
    assert main(["--", "make"]) == 1
    half = cpu / f"half-speed-{os.getpid()}"
    assert capsys.readouterr().err.splitlines() == [
        "usage: python -m scripts.at_half_speed -- COMMAND",
        "error: only root can make a cgroup: run this as root",
        "error: no cgroup hierarchy with the CPU controller is mounted",
        "this machine needs 1.60 times the reference's time: the command gets 80% of each core",
        "error: no cgroup at half speed can be made: [Errno 2] No such file or directory:"
        f" '{half}'",
    ]
