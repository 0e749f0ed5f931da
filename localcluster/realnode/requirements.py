"""Checks what the machine lacks for a real node: root, programs, permissions of the kernel."""

import os
import subprocess
import tempfile
from pathlib import Path

from localcluster.machine.tools import how_to_install, missing_programs, system_path
from localcluster.realnode import cgroups
from localcluster.realnode.containerd import PLUGIN_FOLDERS, PLUGINS, plugin_folder
from localcluster.realnode.subnets import SLOTS

# Debian package → its programs. The last two build our images.
_PROGRAMS = {
    "containerd": ("containerd", "containerd-shim-runc-v2", "ctr"),
    "runc": ("runc",),
    "iptables": ("iptables", "iptables-save", "iptables-restore"),
    "conntrack": ("conntrack",),
    "iproute2": ("ip",),
    "util-linux": ("unshare", "nsenter"),
    "buildah": ("buildah",),
    "debootstrap": ("debootstrap",),
}
_PLUGINS_PACKAGE = "containernetworking-plugins"  # its programs are not on the PATH

_IN_NAMESPACES = ("unshare", "--pid", "--mount", "--net", "--fork", "--propagation", "private")
# One line per possible refusal of the kernel. $1 is an empty temporary folder.
_TRIALS = """
refuses() { echo "$1"; }
mount -t proc proc /proc || refuses "a /proc of the namespaces' own"
ip link add awtrial0 type veth peer name awtrial1 || refuses "veth interfaces"
iptables -t nat -A POSTROUTING -m conntrack --ctstate DNAT -m comment --comment trial \
  -j MASQUERADE || refuses "iptables rules with NAT, connection tracking and comments"
mkdir "$1/lower" "$1/upper" "$1/work" "$1/merged"
mount -t overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" overlay "$1/merged" ||
  refuses "overlay mounts on the file system of $1 (TMPDIR can name a folder on another one)"
"""


def missing() -> list[str]:
    """Returns a sentence per missing requirement of a real node; none if nothing is missing.

    Tries the kernel only if nothing else is missing: that takes 0.1 s, and leaves nothing.
    """
    root = os.geteuid() == 0
    found = [] if root else ["A real node needs root: run this as root, or with sudo."]
    if lacking := _lacking():
        found.append(how_to_install(lacking))
    return found or _refused()


def packages() -> list[str]:
    """Returns the Debian packages whose programs are missing, for apt-get."""
    return [*_lacking()]


def _lacking() -> dict[str, list[str]]:
    lacking = missing_programs(_PROGRAMS)
    if not _has_plugins():
        plugins = f"the network plugins {', '.join(PLUGINS)} ({' or '.join(PLUGIN_FOLDERS)})"
        lacking[_PLUGINS_PACKAGE] = [plugins]
    return lacking


def _has_plugins() -> bool:
    return all(os.access(f"{plugin_folder()}/{each}", os.X_OK) for each in PLUGINS)


def _refused() -> list[str]:
    """Returns what the kernel or a surrounding container forbids."""
    if not is_machines_root(Path("/proc/self/uid_map").read_text()):
        return [
            "A real node needs the machine's own root, and this is only root in a user namespace"
            " (a rootless container). Use a virtual machine, or a privileged container."
        ]
    found = [*_cgroups_refused(), *_tried()]
    if found:
        found.append("Use a virtual machine, or a privileged container.")
    return found


def is_machines_root(uid_map: str) -> bool:
    """True if user 0 is user 0 everywhere, by /proc/self/uid_map."""
    return uid_map.split() == ["0", "0", str(2**32 - 1)]


def _cgroups_refused() -> list[str]:
    """Makes the cgroups of a slot that no node has, and removes them again."""
    if not cgroups.hierarchies():
        return ["There are no cgroups: nothing of the kind is mounted."]
    name = cgroups.name_of(len(SLOTS))
    try:
        cgroups.create(name)
    except OSError as failure:
        return [
            f"Cgroups cannot be made: {failure}. A container must have the machine's cgroup"
            " namespace (`--cgroupns=host`)."
        ]
    finally:
        cgroups.remove(name)
    return []


def _tried() -> list[str]:
    with tempfile.TemporaryDirectory(prefix="appwrapper-trial-") as folder:
        done = subprocess.run(
            (*_IN_NAMESPACES, "sh", "-c", _TRIALS, "sh", folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=os.environ | system_path(),
            check=False,
        )
    if done.returncode != 0 and not done.stdout:
        return [f"This machine refuses new namespaces: {done.stderr.strip()}."]
    reasons = "; ".join(done.stderr.strip().splitlines())
    return [f"The kernel refuses {each} ({reasons})." for each in done.stdout.splitlines()]
