"""apps/v1 Deployment."""

from controller.gather.component_status.report import (
    UNFINISHED,
    Report,
    conditions_of,
    in_trouble,
    words_of,
)
from shared.api.conditions import condition
from shared.api.json import JsonObject


def deployment_report(item: JsonObject) -> Report:
    """It never ends: it serves until it is deleted, and its controller never gives up.

    ReplicaFailure goes away when pods can be made again; a missed progress deadline changes nothing
    of what is tried, and is ten minutes unless told, while our own periods count from the start.
    """
    conditions = conditions_of(item.get("status") or {})
    found = in_trouble(conditions, ("ReplicaFailure",))
    if found.message:
        return found
    progressing = condition(conditions, "Progressing")
    if progressing is None or progressing.get("status") == "True":
        return UNFINISHED
    return Report(message=words_of(conditions, "Progressing"))
