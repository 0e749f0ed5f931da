"""`python -m scripts.at_half_speed` on this machine's own cgroups: needs root, but no cluster."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from localcluster.realnode import cgroups
from scripts.at_half_speed import with_cpu
from tests.support.manifests import ROOT

AT_HALF_SPEED = (sys.executable, "-m", "scripts.at_half_speed", "--")


def half_speed_cgroups() -> set[Path]:
    return {found for each in cgroups.hierarchies() for found in each.mount.glob("half-speed-*")}


def test_the_command_runs_under_the_quota_and_leaves_no_cgroup() -> None:
    hierarchy = with_cpu(cgroups.hierarchies())
    assert hierarchy is not None
    # A cgroup that the command makes below the root of the hierarchy, as the real node does.
    below = hierarchy.mount / f"below-half-speed-{os.getpid()}"
    shows = f"mkdir {below}; rmdir {below}; cat {hierarchy.mount}/cpu.max"
    if hierarchy.version == 1:
        shows = f"{shows.rpartition('/')[0]}/cpu.cfs_quota_us {hierarchy.mount}/cpu.cfs_period_us"
    shows += "; grep -v :/$ /proc/self/cgroup | grep -v :/command$"
    before = half_speed_cgroups()  # of another run on this machine
    ended = subprocess.run(
        (*AT_HALF_SPEED, "sh", "-c", f"{shows}; exit 7"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 7, ended.stderr
    # No hierarchy has a path above the cgroup: runc would not find its containers.
    quota, period = map(int, ended.stdout.split())
    percent = re.search(r"the command gets (\d+)% of each core", ended.stderr)
    assert percent is not None, ended.stderr
    cores = len(os.sched_getaffinity(0))
    assert quota / period == pytest.approx(cores * int(percent[1]) / 100, abs=0.005 * cores)
    assert half_speed_cgroups() <= before
