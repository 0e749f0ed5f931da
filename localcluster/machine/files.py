"""Writes files that other processes read."""

import os
from pathlib import Path


def replace(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Replaces the file in one step. The process's umask narrows `mode`."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=mode)
    draft.write_bytes(content)
    draft.rename(path)


def replace_private(path: Path, content: bytes) -> None:
    """Replaces the file in one step, readable by this user alone."""
    replace(path, content, mode=0o600)
