"""One failure of one worker, as the recorder writes it and the controller reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeGuard  # Python 3.10

USER = "USER"
SYSTEM = "SYSTEM"
UNKNOWN = "UNKNOWN"

_MOST = 2**31 - 1
_END_OF_TIME = 253_402_300_800 * 10**9  # the year 10000, which datetime cannot show


@dataclass(frozen=True)
class ErrorRecord:
    """The earliest failure of a worker.

    `time_ns` is in nanoseconds since the epoch, by the clock of the worker's node. The failure
    happened in [time_ns, time_ns + precision_ns]; None if no time was recorded. `origin` is USER,
    SYSTEM or UNKNOWN. `rank` is the global rank. `collateral`: a signal asked the worker to end
    before any failure of its own. `started_ns`: when its recorder began. Empty text, attempt 0 and
    None mean that the writer gave no value (Flyte's files have the first six fields only).
    """

    code: str = ""
    message: str = ""
    recoverable: bool = False
    origin: str = UNKNOWN
    time_ns: int | None = None
    worker: str = ""  # the pod's name
    pod_uid: str = ""
    attempt: int = 0
    rank: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    collateral: bool = False
    precision_ns: int = 0
    started_ns: int | None = None
    record_id: str = ""
    uri: str = ""  # the whole record's URI; in the termination message only


def plausible_number(value: object) -> int | None:
    """Return `value` if it can be a rank, an exit code, a signal or an attempt, else None."""
    return value if _is_int(value) and 0 <= value <= _MOST else None


def plausible_time(value: object) -> int | None:
    """Return `value` if it can be a time in nanoseconds since the epoch, else None."""
    return value if _is_int(value) and 0 < value < _END_OF_TIME else None


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
