"""Waits until no controller writes an AppWrapper any more."""

from collections.abc import Awaitable, Callable

from shared.api.conditions import condition
from shared.api.objects import JsonObject
from tests.support.life_record import QUOTA
from tests.support.patience import comes_to


async def until_settled(stored: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
    """Returns it once it runs, or has the reason why it waits: from then on its status stays.

    `kubectl replace` reads the object and writes it: a status in between is a conflict.
    """

    async def is_settled() -> bool:
        status = (await stored()).get("status") or {}
        quota = condition(status.get("conditions") or (), QUOTA) or {}
        waits = quota.get("reason") == "QueueUnusable" or "Kueue reports: " in str(quota)
        return status.get("phase") == "Running" or waits

    await comes_to(is_settled, True)
    return await stored()
