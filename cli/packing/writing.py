"""Write a file completely or not at all."""

import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cli.command import CommandError
from cli.manifests.reading import is_among


def refuse_inputs(path: Path, inputs: Sequence[os.stat_result]) -> None:
    """Raise CommandError if the output file is one of the inputs."""
    if is_among(path, inputs):
        raise CommandError(f"--out {path}: this file is one of the inputs. Name another")


def write_whole(path: Path, text: str) -> None:
    """Write the file. An existing file keeps its mode, and its content until the new is complete.

    Raises CommandError.
    """
    try:
        _write(Path(os.path.realpath(path)), text)
    except OSError as error:  # it names the temporary file, or no file
        raise CommandError(f"--out {path}: {error.strerror}") from error


def _write(target: Path, text: str) -> None:
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8") as stream:  # a pipe, a device
            stream.write(text)
        return
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), _mode(target))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
