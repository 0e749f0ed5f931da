"""Write a file completely or not at all."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from cli.command import CommandError


def refuse_inputs(path: Path, inputs: Sequence[os.stat_result]) -> None:
    """Raise CommandError if the output file is one of the inputs, also under another name."""
    if path.exists() and any(os.path.samestat(path.stat(), each) for each in inputs):
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
        target.write_text(text, encoding="utf-8")  # a pipe, a device
        return
    # No process id: in containers it is the same again, and a killed command leaves its file.
    made = target.with_name(f".{target.name}.{token_hex(4)}")
    try:
        with made.open("x", encoding="utf-8", newline="") as stream:
            if target.exists():
                shutil.copymode(target, made)  # before the text, which may contain Secrets
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)
