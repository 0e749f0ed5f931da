"""Arithmetic of waiting periods, in one place so that every deadline is exact in the same way."""

from datetime import datetime, timedelta
from typing import Final

ZERO: Final = timedelta(0)


def remaining(began: datetime | None, period: timedelta, now: datetime) -> timedelta:
    """How long a period that began at `began` still lasts; zero from its deadline on.

    A period that has not begun lasts whole. A start in the future counts as now (specification 4);
    one that is more than a little ahead does not get here (timers.decode).
    """
    if began is None or began > now:
        return period
    return max(ZERO, began + period - now)
