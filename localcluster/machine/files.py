"""Writes files that other processes read."""

import os
from pathlib import Path


def replace_private(path: Path, content: bytes) -> None:
    """Replaces the file in one step, readable by this user alone."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_bytes(content)
    draft.rename(path)
