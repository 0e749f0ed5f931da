"""Since when an AppWrapper waits for quota, or holds quota without its pods. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from controller.phases.phase import Phase
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition, is_true, transition_time
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
)
from shared.api.times import parse_time


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """Since when an AppWrapper waits for quota, or holds quota without its pods.

    Moments are in seconds since the epoch; None: it does not. `deletion_blocked`: something blocks
    the deletion of its resources.
    """

    waits_since: float | None = None
    unused_since: float | None = None
    deletion_blocked: bool = False


NO_WAIT: Final = WaitTimes()


def wait_times_of(appwrapper: AppWrapper) -> WaitTimes:
    """Read everything from the stored status, so that a controller restart changes nothing.

    Quota is unused since its grant, or since too few pods ran, whichever is later.
    """
    conditions = appwrapper.conditions
    phase = str(appwrapper.status.get("phase") or "")
    waits = phase in _WAITING and not appwrapper.deletion_requested
    unused = is_true(conditions, CONDITION_QUOTA_RESERVED) and not is_true(
        conditions, CONDITION_PODS_READY
    )
    quota, unready = (
        _seconds(transition_time(conditions, kind))
        for kind in (CONDITION_QUOTA_RESERVED, CONDITION_PODS_READY)
    )
    moments = [each for each in (quota, unready) if each is not None]
    deleting = condition(conditions, CONDITION_DELETING_RESOURCES) or {}
    return WaitTimes(
        waits_since=(quota or _created(appwrapper)) if waits else None,
        unused_since=max(moments, default=None) if unused else None,
        deletion_blocked=(deleting.get("status"), deleting.get("reason"))
        == ("True", Reason.DELETION_BLOCKED),
    )


_WAITING: Final = (Phase.EMPTY, Phase.SUSPENDED)


def _created(appwrapper: AppWrapper) -> float | None:
    text = appwrapper.metadata.get("creationTimestamp")
    return parse_time(text).timestamp() if text else None


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
