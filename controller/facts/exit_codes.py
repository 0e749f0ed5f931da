"""The exit codes of a failed pod, and whether one forbids a retry. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from controller.phases.fault_tolerance import FaultTolerance
from shared.api.json import JsonObject
from shared.api.times import parse_time

_KILLED: Final = frozenset({137, 143})  # by SIGKILL, by SIGTERM


def exit_codes(item: JsonObject) -> tuple[int, ...]:
    """The non-zero ones of a failed pod's containers, not of its init containers.

    Those that a deletion brought about say nothing of the workload: when one pod of a Job fails,
    the others are deleted, and end by SIGTERM.
    """
    deleted = _deletion_requested(item["metadata"])
    ended = [
        (each.get("state") or {}).get("terminated") or {}
        for each in (item.get("status") or {}).get("containerStatuses") or ()
    ]
    return tuple(
        each["exitCode"]
        for each in ended
        if each.get("exitCode") and not (deleted and _was_killed(each, deleted))
    )


def _deletion_requested(metadata: JsonObject) -> datetime | None:
    """The API server writes when the grace period ends, to the second."""
    if "deletionTimestamp" not in metadata:
        return None
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return parse_time(metadata["deletionTimestamp"]) - grace


def _was_killed(ended: JsonObject, deleted: datetime) -> bool:
    """By the deletion. Of what ended in the same second, the code tells."""
    try:
        finished = parse_time(ended.get("finishedAt") or "")
    except ValueError:
        return False
    return finished > deleted or (finished == deleted and ended["exitCode"] in _KILLED)


def is_terminal(codes: Iterable[int], config: FaultTolerance) -> bool:
    """Some code is listed as terminal, or a list of retryable ones exists and lacks it."""
    return any(
        code in config.terminal_exit_codes
        or (bool(config.retryable_exit_codes) and code not in config.retryable_exit_codes)
        for code in codes
    )
