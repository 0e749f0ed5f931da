"""Space on disk: how much there is, and telling a full disk from other failures."""

import errno
import shutil
from pathlib import Path

from localcluster.machine.errors import DiskFull

MEGABYTE = 1_000_000
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXTS = ("no space left on device", "disk quota exceeded")


def free_megabytes(path: Path) -> int:
    """What this user may still write where `path` is or will be."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free // MEGABYTE


def require_free(path: Path, megabytes: int, purpose: str, remedy: str) -> None:
    """Raises DiskFull where less than `megabytes` are free at `path`."""
    free = free_megabytes(path)
    if free < megabytes:
        raise DiskFull(
            f"{purpose} needs about {megabytes} MB, but only {free} MB are free at {path}. {remedy}"
        )


def is_full(error: OSError) -> bool:
    """Whether the error says that the disk, or the user's share of it, is full."""
    return error.errno in _FULL


def says_full(text: str) -> bool:
    """Whether a program's output says so."""
    lowered = text.lower()
    return any(phrase in lowered for phrase in _FULL_TEXTS)
