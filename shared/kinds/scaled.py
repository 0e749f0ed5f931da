"""apps/v1 Deployment and StatefulSet: so many pods of one template, for as long as they are there.

Neither ends: they serve until they are deleted, and their controllers never give up.
"""

from typing import Final

from shared.api.conditions import (
    NO_PROGRESS,
    UNFINISHED,
    ComponentReport,
    Progress,
    condition,
    conditions_of,
    in_trouble,
    number,
    words_of,
)
from shared.api.names import LABEL_UID
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.kind import CLAIMS, IndexLabel, Kind, Maker, PodSet, count_at, exists

REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet")


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """Without a pod template there is no pod set, as in Kueue."""
    path = "template.spec.template"
    if not exists(template, path):
        return ()
    return (PodSet(path, count_at(template, "template.spec.replicas")),)


def deployment_report(item: JsonObject) -> ComponentReport:
    """ReplicaFailure goes away when pods can be made again.

    A missed progress deadline changes nothing of what is tried, and is ten minutes unless told,
    while our own periods count from the start.
    """
    conditions = conditions_of(item.get("status") or {})
    found = in_trouble(conditions, ("ReplicaFailure",))
    if found.message:
        return found
    progressing = condition(conditions, "Progressing")
    if progressing is None or progressing.get("status") == "True":
        return UNFINISHED
    return ComponentReport(message=words_of(conditions, "Progressing"))


def stateful_set_report(item: JsonObject) -> ComponentReport:
    """It sets no condition. What its pods do not show is why the next of them is not made.

    Unless told otherwise it makes one after the other, and waits until all before are ready.
    """
    spec, status = item.get("spec") or {}, item.get("status") or {}
    wanted = 1 if (replicas := spec.get("replicas")) is None else replicas
    made = status.get("replicas") or 0
    ready = status.get("readyReplicas") or 0
    if spec.get("podManagementPolicy") == "Parallel" or made >= wanted or ready >= made:
        return UNFINISHED
    return ComponentReport(
        message=f"{ready} of the {made} pods that it made are ready, and the next waits for them"
    )


def stateful_set_progress(item: JsonObject) -> Progress:
    """What it made, and the next one where all of these are ready."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    replicas = count_at(item, "template.spec.replicas")
    if spec.get("podManagementPolicy") == "Parallel" or replicas <= 1:
        return NO_PROGRESS
    begun = max(number(status, "replicas"), number(status, "readyReplicas") + 1)
    return Progress(wanted=min(replicas, begun))


_GRANTED: Final = "Wrapped services that run until they are deleted."

DEPLOYMENT = Kind(
    resource=Resource("apps", "v1", "deployments", "Deployment"),
    granted=_GRANTED,
    versions=("apps/v1",),
    pod_sets=pod_sets,
    report=deployment_report,
    ends=False,
    owns=(PODS, REPLICA_SETS),
    # A ReplicaSet has all labels of its pods, so ours tell better than its Deployment's name.
    makers=(Maker(REPLICA_SETS, LABEL_UID),),
)
STATEFUL_SET = Kind(
    resource=STATEFUL_SETS,
    granted=_GRANTED,
    versions=("apps/v1",),
    pod_sets=pod_sets,
    report=stateful_set_report,
    ends=False,
    progress=stateful_set_progress,
    owns=(PODS, CLAIMS),
    index_label=IndexLabel("apps.kubernetes.io/pod-index"),
)
