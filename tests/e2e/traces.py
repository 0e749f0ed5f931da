"""What a real node leaves on this machine, seen from outside its namespaces.

Other clusters with real nodes may come and go meanwhile: what belongs to a living one of them does
not count, and neither does what other tests mount among their own temporary files.
"""

import asyncio
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster.machine.slowness import stretched
from localcluster.realnode import cgroups
from tests.support.sandbox import processes_of

_SECONDS = stretched(60.0)
_NODES_GROUP = re.compile(r"/(awnode\d+-(\d+)-\d+)")
# Where containerd, kubelet and the network plugins write unless told otherwise.
_FOLDERS = (
    "/etc/cni",
    "/opt/containerd",
    "/run/containerd",
    "/run/netns",
    "/run/xtables.lock",
    "/usr/libexec/kubernetes",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
)
# What a kubelet, a kube-proxy or a network plugin would set for the whole machine.
_SETTINGS = (
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/bridge/bridge-nf-call-iptables",
    "net/ipv4/conf/all/route_localnet",
    "net/ipv4/conf/all/rp_filter",
    "net/ipv4/ip_forward",
    "net/netfilter/nf_conntrack_max",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)


@dataclass(frozen=True)
class Traces:
    """What was found, by kind. Two of them are equal where nothing was left between."""

    interfaces: frozenset[str]
    routes: frozenset[str]
    rules: tuple[str, ...]
    mounts: frozenset[str]
    groups: frozenset[str]
    processes: frozenset[str]
    folders: frozenset[str]
    settings: tuple[tuple[str, str], ...]

    def beyond(self, before: "Traces") -> dict[str, tuple[object, object]]:
        """The kinds of which there is something else than there was: by name, both."""
        both = {kind: (getattr(before, kind), getattr(self, kind)) for kind in self.__annotations__}
        return {kind: (then, now) for kind, (then, now) in both.items() if then != now}


def traces(folder: Path, owner: int | None = None) -> Traces:
    """Those of nobody who lives, and of the cluster of process `owner`.

    `folder` is what the processes of the test's clusters name in their arguments or environment.
    """
    others = _interfaces_of_others(owner)
    return Traces(
        interfaces=frozenset(_interfaces() - others),
        routes=frozenset(line for line in _lines("ip", "route") if not _leads_to(line, others)),
        rules=tuple(
            line
            for line in (*_lines("iptables-save"), *_lines("ip6tables-save"))
            if line.startswith(("-A", "-N")) or (line.startswith(":") and " - " in line)
        ),
        mounts=_mounts(folder),
        groups=frozenset(each for each in _groups() if _counts(each, owner)),
        processes=frozenset((*processes_of(folder), *_processes_in_groups(owner))),
        folders=frozenset(each for each in _FOLDERS if Path(each).exists()),
        settings=tuple(
            (each, Path(f"/proc/sys/{each}").read_text().strip())
            for each in _SETTINGS
            if Path(f"/proc/sys/{each}").exists()
        ),
    )


async def comes_to_nothing_but(
    kinds: set[str],
    folder: Path,
    before: Traces,
    owner: int | None = None,
    *,
    perhaps: frozenset[str] = frozenset(),
) -> None:
    """The kernel needs a moment to take namespaces down; then only these kinds differ."""
    deadline = time.monotonic() + _SECONDS
    while (different := traces(folder, owner).beyond(before)).keys() - perhaps != kinds:
        assert time.monotonic() < deadline, different
        await asyncio.sleep(0.1)


def _interfaces() -> set[str]:
    found = json.loads("".join(_lines("ip", "-json", "link")))
    return {each["ifname"] for each in found}


def _interfaces_of_others(owner: int | None) -> set[str]:
    """Those whose slot somebody holds, unless `owner` does."""
    held = set(re.findall(r"@appwrapper-localcluster-node-(\d+)$", _sockets(), re.MULTILINE))
    own = {_slot_of_group(each) for each in _groups() if _owner_of(each) == owner}
    return {f"awnode{slot}" for slot in held - own}


def _sockets() -> str:
    return Path("/proc/net/unix").read_text()


def _leads_to(route: str, interfaces: set[str]) -> bool:
    return any(f" dev {each} " in f"{route} " for each in interfaces)


def _mounts(folder: Path) -> frozenset[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    mounted = {Path(line.split()[4]) for line in lines}
    temporary = {each for each in mounted if each.is_relative_to(tempfile.gettempdir())}
    own = {each for each in temporary if each.is_relative_to(folder)}
    return frozenset(map(str, mounted - temporary | own))


def _groups() -> set[str]:
    return {path.name for each in cgroups.hierarchies() for path in each.mount.glob("awnode*-*-*")}


def _owner_of(group: str) -> int:
    return int(group.split("-")[1])


def _slot_of_group(group: str) -> str:
    return group.split("-")[0].removeprefix("awnode")


def _counts(group: str, owner: int | None) -> bool:
    """Whether it is the owner's, or nobody's."""
    pid = _owner_of(group)
    return pid == owner or cgroups.name_of(int(_slot_of_group(group)), pid) != group


def _processes_in_groups(owner: int | None) -> list[str]:
    """The processes of pods, which name no folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            groups = _NODES_GROUP.findall((entry / "cgroup").read_text())
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if any(_counts(name, owner) for name, _ in groups):
            found.append(f"in a pod: {words.decode(errors='replace')}")
    return found


def _lines(*command: str) -> Sequence[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
