"""The recorder's own messages: one line each, on the command's stderr."""

from __future__ import annotations

import contextlib
import sys

from worker.error_texts import printable


def say(text: str) -> None:
    """Write one line that names the recorder."""
    write("appwrapper worker: {}\n".format(" ".join(printable(text).split())))


def write(text: str) -> None:
    """Write `text` now; a closed stderr is no reason to fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()
