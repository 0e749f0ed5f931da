"""Upload a record's file to the store: a folder (a mounted volume), or a scheme of fsspec."""

from __future__ import annotations

import os
import site
import sys
import threading
from importlib import import_module
from itertools import takewhile

_TRIES = 2
_SECONDS = 10.0


class UploadFailed(Exception):
    """The store did not accept the file; the text contains the reason."""


def upload(uri: str, content: bytes, seconds: float = _SECONDS) -> None:
    """Write `content` to `uri`, with at most two tries and `seconds` in all.

    A path or a file: URI needs nothing; any other scheme needs fsspec and its driver in the image.
    Raises UploadFailed. A try that hangs is left behind: it ends with the process.
    """
    errors: list[str] = []
    done = threading.Event()

    def put() -> None:
        tries = (_why_not(uri, content) for _ in range(_TRIES))
        errors.extend(takewhile(bool, tries))
        done.set()

    threading.Thread(target=put, daemon=True).start()
    if not done.wait(seconds):
        raise UploadFailed(f"no answer within {seconds:g} s")
    if len(errors) == _TRIES:
        raise UploadFailed(errors[-1])


def _why_not(uri: str, content: bytes) -> str:
    """Return why one try failed; empty if it did not."""
    try:
        _put(uri, content)
    except Exception as error:  # noqa: BLE001  (drivers of stores raise what they like)
        return f"{type(error).__name__}: {error}"
    return ""


def _put(uri: str, content: bytes) -> None:
    path = uri[len("file://") :] if uri.startswith("file://") else uri
    if "://" not in path:
        _put_file(path, content)
        return
    if sys.flags.no_site:  # as `be_alone` starts the recorder
        site.main()
    # The image's own, if the store needs it.
    with import_module("fsspec").open(uri, "wb") as file:
        file.write(content)


def _put_file(path: str, content: bytes) -> None:
    """Write a file so that a reader sees all of it or none, also after a crash of the node."""
    folder = os.path.dirname(path)
    os.makedirs(folder or ".", exist_ok=True)
    # Another container of the pod may write the same file now, and with the same process id.
    unfinished = os.path.join(folder, f".{os.urandom(8).hex()}.tmp")
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise
