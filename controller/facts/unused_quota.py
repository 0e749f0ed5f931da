"""Since when an AppWrapper holds quota without all of its pods. Pure."""

from shared.api.appwrapper import AppWrapper
from shared.api.conditions import is_true, transition_time
from shared.api.names import CONDITION_PODS_READY, CONDITION_QUOTA_RESERVED


def unused_since(appwrapper: AppWrapper) -> float | None:
    """Return the seconds since the epoch; None if it has no quota, or its pods run.

    Quota is unused since its grant, or since too few pods ran, whichever is later. The stored
    status shows both, so that a controller restart changes nothing.
    """
    conditions = appwrapper.conditions
    if not is_true(conditions, CONDITION_QUOTA_RESERVED):
        return None
    if is_true(conditions, CONDITION_PODS_READY):
        return None
    kinds = (CONDITION_QUOTA_RESERVED, CONDITION_PODS_READY)
    times = [transition_time(conditions, kind) for kind in kinds]
    return max((time.timestamp() for time in times if time is not None), default=None)
