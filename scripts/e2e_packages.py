"""Installs Debian's packages for a real node before `make e2e` and `make test`."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from localcluster.images.stand_in import TORCH_PACKAGE
from localcluster.realnode import requirements
from scripts.parts import INTERRUPTED, to_its_end

# Program and package that the tests need beside the node: a registry, as companies have.
_REGISTRY = "docker-registry"
_DEBIAN = Path("/etc/debian_version")
_SYSTEMD = Path("/run/systemd")
_INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "--no-remove")
# A machine that has just started installs its updates: apt-get waits for that, in seconds.
_PATIENT = ("-o", "DPkg::Lock::Timeout=300")
# Debian starts a service when it installs its package. The node has its own containerd, and the
# machine's owner requested none. So systemd is hidden from apt-get, in a mount namespace that ends
# with it; RUNLEVEL stops Debian's other way of starting services.
_WITHOUT_SYSTEMD = ("unshare", "--mount", "sh", "-c")
_HIDE = f'mount -t tmpfs none {_SYSTEMD} && exec "$@"'
_QUIET = {"RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}


def missing() -> tuple[list[str], list[str]]:
    """Return what this machine lacks, as sentences, and the Debian packages that mend it."""
    sentences, packages = requirements.missing(), requirements.packages()
    if shutil.which(_REGISTRY) is None:
        install = f"apt-get install --no-install-recommends {_REGISTRY}"
        sentences.append(f"The tests need the program {_REGISTRY}. On Debian: {install}")
        packages.append(_REGISTRY)
    return sentences, packages


def may_install(environment: Mapping[str, str]) -> bool:
    """True if this process can install Debian packages, and INSTALL=0 does not forbid it."""
    debian = _DEBIAN.exists() and shutil.which("apt-get") is not None
    return debian and os.geteuid() == 0 and environment.get("INSTALL", "1") != "0"


def command(packages: Sequence[str], *, systemd: bool) -> tuple[str, ...]:
    """Return the command that installs the packages and starts no service."""
    asked = (*_INSTALL, *_PATIENT, *packages)
    return (*_WITHOUT_SYSTEMD, _HIDE, "sh", *asked) if systemd else asked


def install(packages: Sequence[str]) -> int:
    """Install them and report it; return apt-get's exit code. Fetch package lists if needed."""
    wanted = command(packages, systemd=_SYSTEMD.is_dir())
    environment = {**os.environ, **_QUIET}
    nothing = subprocess.DEVNULL  # no user may be there to answer
    for attempt in range(2):
        print(f"+ {' '.join((*_INSTALL, *packages))}", flush=True)
        code = to_its_end(wanted, env=environment, stdin=nothing)
        if code in (0, INTERRUPTED) or attempt:
            break
        _fetch_lists()
    return code


def _fetch_lists() -> None:
    print("+ apt-get update", flush=True)
    subprocess.run(("apt-get", "update"), check=False, env={**os.environ, **_QUIET})


def settle() -> tuple[str, tuple[str, ...]]:
    """Install missing packages if that is allowed.

    Return why e2e cannot run, empty if it can; and what was done, with its duration. Ctrl-C ends
    the whole run, once apt-get has ended.
    """
    sentences, packages = missing()
    if not (packages and may_install(os.environ)):
        return " ".join(sentences), ()
    began = time.monotonic()
    code = install(packages)
    if code == INTERRUPTED:
        sys.exit(code)
    took = f"installation of packages: {time.monotonic() - began:.0f} s"
    left_out = " ".join(missing()[0])
    if left_out and code != 0:
        left_out = f"apt-get failed with exit code {code}. {left_out}"
    return left_out, (took,)


def without_torch() -> str:
    """Return why no image with PyTorch can be made here; empty if it can.

    The image is made of Debian's packages, which are not installed on this machine.
    """
    show = ("apt-cache", "show", "--no-all-versions", TORCH_PACKAGE)
    if subprocess.run(show, check=False, capture_output=True).returncode == 0:
        return ""
    _fetch_lists()
    if subprocess.run(show, check=False, capture_output=True).returncode == 0:
        return ""
    return (
        f"apt's sources on this machine have no package {TORCH_PACKAGE}: Debian 12 and newer have"
        " it in their component main."
    )
