"""Measures free space on disk, and recognizes failures of a full disk."""

import errno
import shutil
from pathlib import Path

from localcluster.machine.errors import DiskFull

MEGABYTE = 1_000_000
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXTS = ("no space left on device", "disk quota exceeded")


def free_megabytes(path: Path) -> int:
    """Returns the megabytes that this user may still write at `path`, which need not exist."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free // MEGABYTE


def require_free(path: Path, megabytes: int, purpose: str, remedy: str) -> None:
    """Raises DiskFull if less than `megabytes` are free at `path`."""
    free = free_megabytes(path)
    if free < megabytes:
        raise DiskFull(
            f"{purpose} needs about {megabytes} MB, but only {free} MB are free at {path}. {remedy}"
        )


def is_full(error: OSError) -> bool:
    """True if the error means that the disk, or the user's share of it, is full."""
    return error.errno in _FULL


def says_full(text: str) -> bool:
    """True if a program's output contains such an error."""
    lowered = text.lower()
    return any(phrase in lowered for phrase in _FULL_TEXTS)
