"""Checks what the machine lacks for building images without Docker."""

import os

from localcluster.machine.errors import ToolMissing
from localcluster.machine.tools import how_to_install, missing_programs

_PACKAGES = {"buildah": ("buildah",), "util-linux": ("unshare",)}
_STAND_IN = {"debootstrap": ("debootstrap",)}


def require(*, stand_in: bool = True) -> None:
    """Raises ToolMissing with all that is missing; `stand_in`: a base image is made here, too."""
    found = []
    if os.geteuid() != 0:
        found.append("Building images with buildah needs root, and this is another user.")
    if missing := missing_programs(_PACKAGES | (_STAND_IN if stand_in else {})):
        found.append(how_to_install(missing))
    if found:
        raise ToolMissing(" ".join(found))
