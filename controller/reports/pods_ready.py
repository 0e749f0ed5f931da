"""Report how many pods run and what the others wait for, or the next attempt. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final

from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from shared.api.names import CONDITION_PODS_READY
from shared.api.times import format_duration, format_time, time_or_none


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsMissing(ConditionReport):
    """Fewer pods run than expected. `wanted`: so many pods are wanted so far.

    `ignored_by_scheduler`: the pods that no scheduler has reported on.
    `obstacles`: why the others do not run.
    """

    type: str = CONDITION_PODS_READY
    reasons: ClassVar[tuple[Reason, ...]] = (Reason.RESUMING, Reason.INSUFFICIENT_PODS_READY)
    status: bool = False
    expected: int
    wanted: int
    existing: int
    ready: int
    succeeded: int = 0
    ignored_by_scheduler: str = ""
    obstacles: tuple[str, ...] = ()

    def text(self) -> str:
        """Return `0 of 2 pods run; train-0: 8 Insufficient nvidia.com/gpu`."""
        succeeded = " or succeeded" if self.succeeded else ""
        deferred = f" ({self.wanted} are wanted so far)" if self.wanted < self.expected else ""
        missing = f"{self.existing} exist" if self.existing < self.wanted else ""
        counted = f"{self.ready} of {self.expected} pods run{succeeded}{deferred}"
        return "; ".join(
            filter(None, [counted, missing, self.ignored_by_scheduler, *self.obstacles])
        )


def attempt_follows(
    spent: int, limit: int, pause: timedelta, begins: datetime | None = None
) -> ConditionReport:
    """Return `2 of 3 retries spent; the next attempt begins at …`.

    `begins`: when, if that is known; else `pause` after the deletion.
    """
    when = f"{format_duration(pause)} after everything is deleted"
    if begins is not None:
        when = f"at {format_time(begins)}"
    noun = "retry" if limit == 1 else "retries"
    text = f"{spent} of {limit} {noun} spent; the next attempt begins {when}"
    return ConditionReport(CONDITION_PODS_READY, False, Reason.RESETTING, text)


_BEGINS: Final = re.compile(r"(\d+ of \d+) retr(?:y|ies) spent; the next attempt begins at (\S+)")


def attempt_announced(message: str) -> tuple[str, datetime] | None:
    """Return the spent retries (`1 of 3`) and the start from the text of `attempt_follows`.

    None before the start is known.
    """
    found = _BEGINS.fullmatch(message)
    begins = time_or_none(found[2]) if found else None
    return None if found is None or begins is None else (found[1], begins)
