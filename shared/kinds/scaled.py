"""apps/v1 Deployment and StatefulSet: a number of pods of one template.

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
from shared.kinds.kind import IndexLabel, Kind, Maker, PodSet, count_at
from shared.kinds.without_pods import CLAIMS

REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet")


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    return (PodSet("template.spec.template", count_at(template, "template.spec.replicas")),)


def deployment_report(item: JsonObject) -> ComponentReport:
    """Report ReplicaFailure, which disappears when pods can be created again.

    A missed progress deadline is only a message: the Deployment controller keeps trying. It is ten
    minutes by default; the AppWrapper's own periods count from the start.
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
    """Report why the next pod is not created: its pods do not show that, and it has no condition.

    By default the StatefulSet controller creates a pod after all earlier pods are ready.
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
    """Return the pods created so far, and the next if all of them are ready."""
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
    # A ReplicaSet has all labels of its pods: the UID identifies it better than its Deployment's
    # name.
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
