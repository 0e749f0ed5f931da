"""Notice that another program replaced a file."""

import os
from collections.abc import Iterable

FileStates = tuple[tuple[int, int, int] | None, ...]


def file_states(paths: Iterable[str | os.PathLike[str]]) -> FileStates:
    """Return inode, size and time of each file: a replaced file differs in one of them.

    None: the file is missing or unreadable.
    """
    return tuple(map(_state, paths))


def _state(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
