"""Runs a command at half of the reference's speed: `python -m scripts.at_half_speed -- COMMAND`.

A cgroup's quota gives the command a share of each core's time: half of it on a machine like the
reference, more on a slower one. In namespaces of the command's own this cgroup is the root of every
hierarchy. So the real node makes its pods' cgroups below the quota, too, and runc finds each pod in
every hierarchy at the same path. Needs root, and `unshare` of util-linux. The cgroup is removed at
the end.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localcluster.machine.interrupts import end_with_parent
from localcluster.realnode import cgroups
from localcluster.realnode.cgroups import Hierarchy
from scripts.calibration import measured
from scripts.parts import to_its_end

# Short, so that pauses are: a core that has used its part waits for the rest of a period.
PERIOD: Final = 20_000  # microseconds
USAGE: Final = 2
# In version 2 only a cgroup without processes has children with controllers.
_LEAF: Final = "command"
_ENTER: Final = f"""
while [ "$1" != -- ]; do
  if [ -d "$1/{_LEAF}" ]; then echo $$ >"$1/{_LEAF}/cgroup.procs" || exit 1; fi
  mount --bind "$1" "$2" || exit 1
  shift 2
done
shift
exec "$@"
"""


def with_cpu(hierarchies: Sequence[Hierarchy]) -> Hierarchy | None:
    """Return the hierarchy that has the CPU controller; None if there is none."""
    for each in hierarchies:
        if each.version == 1 and (each.mount / "cpu.cfs_quota_us").exists():
            return each
        offered = each.mount / "cgroup.controllers"
        if each.version == 2 and "cpu" in offered.read_text().split():
            return each
    return None


def share_of(slowness: float) -> float:
    """Return the part of a core's time that makes it half as fast as the reference; at most 1."""
    return min(1.0, slowness / 2)


def share_above(hierarchy: Hierarchy, cores: int) -> float:
    """Return the part of the cores' time that the hierarchy's root has; 1 without a quota.

    That root has one if this command runs below itself. In version 1 no cgroup may have a greater
    quota than the one above.
    """
    if hierarchy.version == 1:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        quota, period = ((hierarchy.mount / name).read_text().strip() for name in names)
    elif (file := hierarchy.mount / "cpu.max").exists():  # the kernel's own root has none
        quota, period = file.read_text().split()
    else:
        return 1.0
    return 1.0 if quota in ("-1", "max") else min(1.0, int(quota) / int(period) / cores)


def limit(directory: Path, version: int, cores: int, share: float) -> None:
    """Write a share of the cores' time into a new cgroup. Raise OSError."""
    quota = round(PERIOD * cores * share)
    if version == 1:
        (directory / "cpu.cfs_period_us").write_text(str(PERIOD))
        (directory / "cpu.cfs_quota_us").write_text(str(quota))
    else:
        (directory / "cpu.max").write_text(f"{quota} {PERIOD}")


def inside(name: str, where: Sequence[Hierarchy], command: Sequence[str]) -> tuple[str, ...]:
    """Return the command that makes the cgroup the root of each hierarchy, then is `command`."""
    unshare = ("unshare", "--mount", "--cgroup", "--propagation", "private")
    pairs = [word for each in where for word in (str(each.mount / name), str(each.mount))]
    return (*unshare, "sh", "-c", _ENTER, "sh", *pairs, "--", *command)


def run(
    limited: Hierarchy, where: Sequence[Hierarchy], command: Sequence[str], share: float
) -> int:
    """Run the command with a share of the cores. Return its exit code.

    Raise OSError if no cgroup can be made.
    """
    name = f"half-speed-{os.getpid()}"
    try:
        cgroups.create(name, where)
        for each in where:
            if each.version == 2:
                (each.mount / name / _LEAF).mkdir()
        limit(limited.mount / name, limited.version, len(os.sched_getaffinity(0)), share)

        def join() -> None:
            end_with_parent()
            for each in where:
                (each.mount / name / "cgroup.procs").write_text(str(os.getpid()))

        started = inside(name, where, command)
        code = to_its_end(started, preexec_fn=join)
    finally:
        cgroups.remove(name, where)
    if left := [str(each.mount / name) for each in where if (each.mount / name).exists()]:
        found = f"programs still run in {', '.join(left)}: end them, then remove it with rmdir"
        print(f"error: {found}", file=sys.stderr)
        return code or 1
    return code


def main(arguments: Sequence[str]) -> int:
    """Return the command's exit code; 1 or 2 with an error if it was not run."""
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        print("usage: python -m scripts.at_half_speed -- COMMAND", file=sys.stderr)
        return USAGE
    if os.geteuid() != 0:
        print("error: only root can make a cgroup: run this as root", file=sys.stderr)
        return 1
    where = cgroups.hierarchies()
    limited = with_cpu(where)
    if limited is None:
        print("error: no cgroup hierarchy with the CPU controller is mounted", file=sys.stderr)
        return 1
    slowness = measured().slowness
    cores = len(os.sched_getaffinity(0))
    share = min(share_of(slowness), share_above(limited, cores))
    print(
        f"this machine needs {slowness:.2f} times the reference's time: the command gets"
        f" {share:.0%} of each core",
        file=sys.stderr,
    )
    try:
        return run(limited, where, command, share)
    except OSError as failure:
        print(f"error: no cgroup at half speed can be made: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    end_with_parent()
    sys.exit(main(sys.argv[1:]))
