"""The file without which the Training Operator does not start."""

import contextlib
from pathlib import Path
from typing import Final

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.waiting import Probe

_MARKER_TEXT: Final = "An operator of a local cluster is starting. This file may be deleted.\n"


def with_marker(probe: Probe, marker: Path) -> Probe:
    """Recreate the marker while the operator starts: another cluster may have removed it."""

    async def ask() -> str | None:
        set_marker(marker)
        return await probe()

    return ask


def set_marker(marker: Path) -> None:
    """Create the file. Raise LocalClusterError if its folder is not writable."""
    if marker.exists():
        return
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text(_MARKER_TEXT)
    except FileNotFoundError:
        return  # another cluster removed the folder meanwhile: the next probe makes both again
    except OSError as failure:
        raise LocalClusterError(
            f"The Training Operator waits for a file {marker}, which cannot be written:"
            f" {failure.strerror}. Make that folder writable, or leave the component out."
        ) from failure


def remove_marker(marker: Path) -> None:
    """Remove the file with its folders, unless another program wrote it."""
    with contextlib.suppress(OSError):
        if marker.read_text() == _MARKER_TEXT:
            marker.unlink()
            marker.parent.rmdir()
            marker.parent.parent.rmdir()
