"""What building images without Docker needs of the machine."""

import os
import shutil

from localcluster.machine.errors import ToolMissing

# Program → Debian's package of it. debootstrap only makes the base image's stand-in.
BUILDER = {"buildah": "buildah", "unshare": "util-linux"}
STAND_IN = {"debootstrap": "debootstrap"}


def missing(*, stand_in: bool = True) -> list[str]:
    """Sentences, each saying what is missing and how to get it; none where all is there."""
    programs = BUILDER | (STAND_IN if stand_in else {})
    absent = [name for name in programs if shutil.which(name, path=search_path()) is None]
    found = []
    if os.geteuid() != 0:
        found.append("Building images with buildah needs root, and this is another user.")
    if absent:
        packages = " ".join(sorted(programs[name] for name in absent))
        found.append(
            f"Not installed: {', '.join(sorted(absent))}. On Debian:"
            f" apt-get install --no-install-recommends {packages}"
        )
    return found


def require(*, stand_in: bool = True) -> None:
    """Raises ToolMissing where something is missing."""
    sentences = missing(stand_in=stand_in)
    if sentences:
        raise ToolMissing(" ".join(sentences))


def search_path() -> str:
    """PATH, and the folders of programs for root, which not every shell has in it."""
    return ":".join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
