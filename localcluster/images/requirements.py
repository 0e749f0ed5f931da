"""Checks what the machine lacks for building images without Docker."""

import os
import shutil

from localcluster.machine.errors import ToolMissing

# Program → its Debian package. Only the base image's stand-in needs debootstrap.
BUILDER = {"buildah": "buildah", "unshare": "util-linux"}
STAND_IN = {"debootstrap": "debootstrap"}


def missing(*, stand_in: bool = True) -> list[str]:
    """Returns a sentence per missing requirement, with its remedy; none if nothing is missing."""
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
    """Raises ToolMissing if a requirement is missing."""
    sentences = missing(stand_in=stand_in)
    if sentences:
        raise ToolMissing(" ".join(sentences))


def search_path() -> str:
    """Returns PATH and the folders of root's programs, which some shells omit."""
    return ":".join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
