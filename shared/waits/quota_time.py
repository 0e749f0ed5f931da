"""How long an AppWrapper has held quota. Pure.

The condition QuotaReserved shows the present time with quota. `status.quotaSeconds` has the earlier
times: the controller adds each in the status write that turns the condition False.
"""

from datetime import datetime, timedelta
from typing import Final

from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition, number, transition_time
from shared.api.names import CONDITION_QUOTA_RESERVED

QUOTA_SECONDS: Final = "quotaSeconds"


def quota_time(appwrapper: AppWrapper, now: datetime) -> timedelta | None:
    """Return the whole time with quota until `now`.

    None if it was not recorded: another operator, or an earlier version, released the quota.
    """
    status = appwrapper.status
    reserved = condition(appwrapper.conditions, CONDITION_QUOTA_RESERVED) or {}
    if reserved.get("status") != "True":
        is_unknown = appwrapper.attempt > 0 and QUOTA_SECONDS not in status
        return None if is_unknown else timedelta(seconds=number(status, QUOTA_SECONDS))
    since = transition_time(appwrapper.conditions, CONDITION_QUOTA_RESERVED)
    if since is None:
        return None
    return timedelta(seconds=number(status, QUOTA_SECONDS)) + max(now - since, timedelta(0))
