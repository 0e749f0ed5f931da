"""Runs inside the namespaces, once: gives the node its own system folders and kernel settings.

`mounts FOLDER`, where FOLDER is the cluster's. A tmpfs replaces the fixed paths to which
containerd, the kubelet and the network plugins write; the host's files there are hidden from them.
"""

import os
import sys
from pathlib import Path

from localcluster.realnode.syscalls import MS_BIND, MS_REC, MS_SHARED, mount

_EMPTY = ("/run", "/var/log")
# The host's content is visible, since it may hold the user's programs; writes stay inside.
_COPIED = "/var/lib"
_EMPTY_BELOW = ("/var/lib/containerd", "/var/lib/kubelet", "/var/lib/cni")

# Settings of the whole machine. The kubelet would change them if it did not find these values.
_KERNEL = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}
# Settings of the network namespace.
_NETWORK = {"net/ipv4/ip_forward": 1, "net/ipv4/conf/all/rp_filter": 0}


def main(folder: Path) -> None:
    """Raises OSError with what the kernel refuses."""
    # Already private towards the host; shared within the node, as the kubelet requires.
    mount("", "/", flags=MS_REC | MS_SHARED)
    kept = os.open(folder, os.O_PATH)
    scratch = folder / "node" / "private"
    scratch.mkdir(parents=True)
    mount("tmpfs", str(scratch), "tmpfs", data="mode=700")
    settings = _settings(scratch)
    overlay = ",".join(
        f"{name}={path}"
        for name, path in (
            ("lowerdir", Path(_COPIED)),
            ("upperdir", _made(scratch / "upper")),
            ("workdir", _made(scratch / "work")),
        )
    )
    mount("overlay", _COPIED, "overlay", data=overlay)
    for path in (*_EMPTY, *_EMPTY_BELOW):
        _made(Path(path))
        mount("tmpfs", path, "tmpfs", data="mode=755")
    if any(folder.is_relative_to(path) for path in (*_EMPTY, _COPIED)):
        mount(f"/proc/self/fd/{kept}", str(_made(folder)), flags=MS_BIND | MS_REC)
    for name, file in settings.items():
        mount(str(file), f"/proc/sys/{name}", flags=MS_BIND)
    for name, value in _NETWORK.items():
        Path(f"/proc/sys/{name}").write_text(f"{value}\n")


def _settings(scratch: Path) -> dict[str, Path]:
    """Writes files to mount over the kernel's own, by the name of the setting."""
    files = {}
    for name, value in _KERNEL.items():
        file = scratch / name.replace("/", ".")
        file.write_text(f"{value}\n")
        if Path(f"/proc/sys/{name}").exists():
            files[name] = file
    return files


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


if __name__ == "__main__":
    main(Path(sys.argv[1]))
