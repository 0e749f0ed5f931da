"""ray.io/v1 RayCluster."""

from controller.gather.component_status.report import (
    Report,
    conditions_of,
    in_trouble,
    in_words,
)
from shared.api.json import JsonObject


def ray_cluster_report(item: JsonObject) -> Report:
    """It never ends: neither well, since it serves until it is deleted, nor badly.

    Its operator goes on whatever happens: it makes failed pods anew, and takes ReplicaFailure back
    as soon as pods can be made. So its failures are never terminal, nor is the state `failed` of
    older operators, which was left again too. Whether too few pods run is for the pods to say.
    """
    return ray_cluster_trouble(item.get("status") or {})


def ray_cluster_trouble(status: JsonObject) -> Report:
    """What a RayCluster's status says is in its way; a RayJob's holds a copy of it."""
    found = in_trouble(conditions_of(status), ("ReplicaFailure", "RayClusterSuspended"))
    if not found.message and status.get("state") == "failed":
        return Report(message=in_words("failed", status.get("reason")))
    return found
