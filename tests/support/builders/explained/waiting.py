"""Situations of an AppWrapper that cannot start yet, by Kueue's decision or without one."""

from collections.abc import Callable
from typing import Any

from cli.cluster.unread import Unread
from cli.explaining.appwrapper_objects import AppWrapperObjects
from shared.api.names import ANNOTATION_DEACTIVATED
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import with_quota_seconds
from tests.support.builders.explained.objects import (
    ASSUMED,
    QUEUE,
    WAITS,
    ago,
    appwrapper,
    cluster_queue,
    condition,
    event,
    holder,
    local_queue,
    seen,
    workload,
    world,
)


def pending(reason: str, message: str) -> dict[str, Any]:
    """Builds the condition with Kueue's reason for not admitting a Workload."""
    return condition("QuotaReserved", "False", reason, message, seconds=590)


SHORT = pending(
    "Pending",
    "couldn't assign flavors to pod set train-0: insufficient unused quota for nvidia.com/gpu in"
    " flavor default-flavor, 12 more needed",
)


def waits_for_quota() -> AppWrapperObjects:
    """Other workloads hold 60 of 64 GPUs; it asks for 16 and is second in the queue."""
    mine = workload(SHORT)
    others = (
        holder("llm-pretrain", 32, priority=10, seconds=7200),
        holder("sweep", 16, seconds=5400),
        holder("notebook", 12, priority=1, namespace="team2", seconds=300),
    )
    queue = cluster_queue({"cpu": "120", "nvidia.com/gpu": "60"}, pending=3)
    before = {"metadata": {"name": "appwrapper-big-99999"}, "positionInClusterQueue": 0}
    place = {"metadata": {"name": "appwrapper-train-4f2d1"}, "positionInClusterQueue": 1}
    return seen(
        appwrapper("Suspended", *WAITS),
        world(mine, *others, cluster_queues=(queue,)),
        pending=(before, place),
    )


def never_fits() -> AppWrapperObjects:
    """It asks for 128 GPUs of a queue that can have 64."""
    says = pending(
        "Pending",
        "couldn't assign flavors to pod set train-0: insufficient quota for nvidia.com/gpu in"
        " flavor default-flavor, previously considered podsets requests (0) + current podset"
        " request (128) > maximum capacity (64)",
    )
    mine = workload(says, pods=16)
    return seen(appwrapper("Suspended", *WAITS, pods=16), world(mine))


def waits_in_a_cohort() -> AppWrapperObjects:
    """Its own quota is used up, and the cohort lends no more than 4 GPUs."""
    mine = workload(SHORT)
    used = cluster_queue({"nvidia.com/gpu": "72"}, cohort="default-cohort", pending=1)
    other = cluster_queue(
        {"nvidia.com/gpu": "52"}, name="team2-cluster-queue", cohort="default-cohort"
    )
    lender = holder("team2-run", 52, namespace="team2", priority=7)
    lender["status"]["admission"]["clusterQueue"] = "team2-cluster-queue"
    return seen(
        appwrapper("Suspended", *WAITS),
        world(mine, holder("own-run", 72), lender, cluster_queues=(used, other)),
    )


def waits_for_its_turn() -> AppWrapperObjects:
    """There is room, but older workloads are before it in a strict queue."""
    mine = workload(
        pending("Pending", "The workload is pending: it waits for its turn"),
    )
    places = tuple(
        {"metadata": {"name": name}, "positionInClusterQueue": place}
        for place, name in enumerate(("appwrapper-big-1", "appwrapper-train-4f2d1"))
    )
    return seen(
        appwrapper("Suspended", *WAITS),
        world(mine, cluster_queues=(cluster_queue({"nvidia.com/gpu": "8"}, pending=2),)),
        pending=places,
    )


def preempted() -> AppWrapperObjects:
    """Kueue gave its quota to a workload of higher priority."""
    mine = workload(
        pending(
            "Pending",
            "couldn't assign flavors to pod set train-0: insufficient unused quota for"
            " nvidia.com/gpu in flavor default-flavor, 16 more needed",
        ),
        condition(
            "Evicted",
            "True",
            "Preempted",
            "Preempted to accommodate a workload (UID: 77, JobUID: 78) due to prioritization in"
            " the ClusterQueue",
            seconds=130,
        ),
    )
    urgent = holder("urgent", 64, priority=10, seconds=120)
    waits = (
        condition("QuotaReserved", "False", "Suspended", seconds=120),
        condition("ResourcesDeployed", "False", "DeletionComplete", seconds=120),
    )
    item = appwrapper("Suspended", *waits, attempt=1, deployed="False", created=4000)
    item = with_quota_seconds(item, 3000)
    queue = cluster_queue({"nvidia.com/gpu": "64"})
    return seen(
        item,
        world(mine, urgent, cluster_queues=(queue,)),
        components=(None,),
        events=(
            event("Started", "Admitted by clusterQueue team1-cluster-queue", 3000),
            event("Suspending", "suspended; deleting its components", 128),
        ),
    )


def backs_off() -> AppWrapperObjects:
    """Its pods were not ready in Kueue's time, so Kueue took the quota back and waits a while."""
    words = (
        "Kueue evicted Workload appwrapper-train-4f2d1 (twice so far): its pods were not ready"
        " within the timeout or recoveryTimeout of waitForPodsReady. This spent no retry."
    )
    mine = workload(
        pending("Pending", "Exceeded the PodsReady timeout ns/name"),
        condition(
            "Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout", seconds=30
        ),
        status={"requeueState": {"count": 2, "requeueAt": ago(-90)}},
    )
    waits = (
        condition("QuotaReserved", "False", "PodsReadyTimeout", words, seconds=20),
        condition("ResourcesDeployed", "False", "DeletionComplete", seconds=20),
    )
    item = appwrapper("Suspended", *waits, attempt=1, deployed="False", created=4000)
    return seen(item, world(mine), components=(None,))


def deactivated() -> AppWrapperObjects:
    """An admin deactivated its Workload."""
    return _evicted("Deactivated", "The workload is deactivated")


def held_by_user() -> AppWrapperObjects:
    """Its user holds it (`appwrapper hold`)."""
    waits = condition("QuotaReserved", "False", "Held", "a user holds it", seconds=300)
    evicted = condition("Evicted", "True", "Deactivated", "The workload is deactivated")
    mine = workload(pending("Pending", "deactivated"), evicted, spec={"active": False})
    mine["metadata"]["annotations"] = {ANNOTATION_DEACTIVATED: "true"}
    marks = {"hold": "true", "held-by": "alice"}
    return seen(appwrapper("Suspended", waits, annotations=marks), world(mine))


def evicted_too_often() -> AppWrapperObjects:
    """Kueue deactivated its Workload by a limit; activating it would not help."""
    return _evicted(
        "DeactivatedDueToRequeuingLimitExceeded",
        "The workload is deactivated due to exceeding the maximum number of re-queuing retries",
    )


def _evicted(reason: str, message: str) -> AppWrapperObjects:
    evicted = condition("Evicted", "True", reason, message, seconds=300)
    waits = pending("Pending", "The workload is deactivated")
    return seen(
        appwrapper("Suspended", *WAITS), world(workload(waits, evicted, spec={"active": False}))
    )


def no_local_queue() -> AppWrapperObjects:
    """Its label names a queue that does not exist."""
    mine = workload(pending("Inadmissible", "LocalQueue defualt-queue doesn't exist"))
    item = appwrapper("Suspended", *WAITS, metadata={"labels": {QUEUE: "defualt-queue"}})
    return seen(item, world(mine))


def local_queue_stopped() -> AppWrapperObjects:
    """An admin holds the LocalQueue."""
    mine = workload(pending("Inadmissible", "LocalQueue default-queue is inactive"))
    return seen(
        appwrapper("Suspended", *WAITS),
        world(mine, local_queues=(local_queue(stopPolicy="Hold"),)),
    )


def cluster_queue_stopped() -> AppWrapperObjects:
    """An admin drains the ClusterQueue."""
    mine = workload(pending("Inadmissible", "ClusterQueue team1-cluster-queue is inactive"))
    queue = cluster_queue(spec={"stopPolicy": "HoldAndDrain"})
    return seen(appwrapper("Suspended", *WAITS), world(mine, cluster_queues=(queue,)))


def cluster_queue_inactive() -> AppWrapperObjects:
    """The ClusterQueue names a flavor that does not exist."""
    inactive = condition(
        "Active",
        "False",
        "FlavorNotFound",
        "Can't admit new workloads: references missing ResourceFlavor(s): default-flavor.",
    )
    mine = workload(pending("Inadmissible", "ClusterQueue team1-cluster-queue is inactive"))
    return seen(
        appwrapper("Suspended", *WAITS),
        world(mine, cluster_queues=(cluster_queue(active=inactive),)),
    )


def cluster_queue_missing() -> AppWrapperObjects:
    """The LocalQueue names a ClusterQueue that does not exist."""
    mine = workload(pending("Inadmissible", "ClusterQueue team1-cluster-queue doesn't exist"))
    return seen(appwrapper("Suspended", *WAITS), world(mine, cluster_queues=()))


def namespace_refused() -> AppWrapperObjects:
    """The ClusterQueue's namespaceSelector does not select the namespace."""
    mine = workload(
        pending("Inadmissible", "Workload namespace doesn't match ClusterQueue selector")
    )
    return seen(appwrapper("Suspended", *WAITS), world(mine))


def kueue_config(text: str) -> JsonObject:
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    return {"metadata": metadata, "data": {"controller_manager_config.yaml": text}}


def not_managed() -> AppWrapperObjects:
    """Kueue's configuration does not select the namespace, and an admin runs the command."""
    text = "managedJobsNamespaceSelector:\n  matchLabels:\n    mlbatch-team-namespace: 'true'\n"
    settings = kueue_config(text)
    namespace = {"metadata": {"name": "team1"}}
    return seen(
        appwrapper("Suspended", *WAITS, spec={"suspend": False}),
        world(kueue_settings=settings, namespace=namespace),
    )


def integration_off() -> AppWrapperObjects:
    """Kueue's configuration does not list AppWrappers."""
    text = "integrations:\n  frameworks: [batch/job]\n"
    settings = kueue_config(text)
    return seen(appwrapper("Suspended", *WAITS), world(kueue_settings=settings))


def just_created() -> AppWrapperObjects:
    """It was created three seconds ago, and Kueue has not made its Workload yet."""
    return seen(appwrapper("Suspended", *WAITS, created=3))


def admitted() -> AppWrapperObjects:
    """Kueue admitted it, and the controller has not created its components yet."""
    item = appwrapper("Suspended", *WAITS, spec={"suspend": False})
    item["spec"]["components"][0]["podSetInfos"] = [{}]
    mine = workload(
        condition("QuotaReserved", "True", "QuotaReserved", seconds=0),
        condition("Admitted", "True", "Admitted", seconds=0),
    )
    return seen(item, world(mine))


def no_workload() -> AppWrapperObjects:
    """It has no Workload, and no object shows why."""
    return seen(appwrapper("Suspended", *WAITS))


def uncovered() -> AppWrapperObjects:
    """It asks for a resource that the ClusterQueue does not have."""
    says = pending(
        "Pending",
        "couldn't assign flavors to pod set train-0: resource nvidia.com/gpu unavailable in"
        " ClusterQueue",
    )
    queue = cluster_queue()
    group = queue["spec"]["resourceGroups"][0]
    group["coveredResources"] = ["cpu"]
    del group["flavors"][0]["resources"][1]
    return seen(appwrapper("Suspended", *WAITS), world(workload(says), cluster_queues=(queue,)))


def larger_than_any_node() -> AppWrapperObjects:
    """One pod asks for 16 GPUs; nodes have 8."""
    mine = workload(SHORT, pods=1, gpus=16)
    full = cluster_queue({"nvidia.com/gpu": "60"})
    return seen(
        appwrapper("Suspended", *WAITS, pods=1, gpus=16), world(mine, cluster_queues=(full,))
    )


def no_flavor() -> AppWrapperObjects:
    """Its pods tolerate no taint of the only flavor."""
    says = pending(
        "Pending",
        "couldn't assign flavors to pod set train-0: untolerated taint {gpu NoSchedule <nil>} in"
        " flavor default-flavor",
    )
    return seen(appwrapper("Suspended", *WAITS), world(workload(says)))


def admission_check() -> AppWrapperObjects:
    """Its quota is reserved, and an admission check is not finished."""
    mine = workload(
        condition("QuotaReserved", "True", "QuotaReserved", seconds=50),
        condition(
            "Admitted", "False", "UnsatisfiedAdmissionChecks", "The workload has not all checks"
        ),
        status={
            "admissionChecks": [
                {"name": "capacity", "state": "Pending", "message": "waiting for 2 nodes"}
            ]
        },
    )
    return seen(appwrapper("Suspended", *WAITS), world(mine))


def suspended_by_user() -> AppWrapperObjects:
    """It is in no queue, and its user suspended it."""
    item = appwrapper("Suspended", *WAITS, metadata={"labels": {}})
    return seen(item)


def no_kueue() -> AppWrapperObjects:
    """It names a queue, in a cluster without Kueue."""
    return seen(appwrapper("Suspended", *WAITS), world(has_kueue=False))


def not_readable() -> AppWrapperObjects:
    """A user without any right on Kueue's objects."""

    def no(what: str) -> Unread:
        return Unread(what, "no right to list them", forbidden=True)

    shared = world(
        settings=ASSUMED,
        own_workloads=no("workloads of namespace team1: who holds quota"),
        all_workloads=no("workloads of the cluster: who holds quota"),
        local_queues=no("localqueues of namespace team1: whether the queue exists and is open"),
        cluster_queues=no("clusterqueues of the cluster: how much quota is used and free"),
        cohorts=no("cohorts of the cluster: what can be borrowed"),
        nodes=no("nodes of the cluster: whether a node is large enough"),
    )
    return seen(appwrapper("Suspended", *WAITS), shared)


SITUATIONS: dict[str, Callable[[], AppWrapperObjects]] = {
    "waits-for-quota": waits_for_quota,
    "waits-in-a-cohort": waits_in_a_cohort,
    "waits-for-its-turn": waits_for_its_turn,
    "preempted": preempted,
    "backs-off": backs_off,
    "deactivated": deactivated,
    "held-by-user": held_by_user,
    "evicted-too-often": evicted_too_often,
    "never-fits": never_fits,
    "uncovered-resource": uncovered,
    "larger-than-any-node": larger_than_any_node,
    "no-flavor": no_flavor,
    "admission-check": admission_check,
    "no-local-queue": no_local_queue,
    "local-queue-stopped": local_queue_stopped,
    "cluster-queue-stopped": cluster_queue_stopped,
    "cluster-queue-inactive": cluster_queue_inactive,
    "cluster-queue-missing": cluster_queue_missing,
    "namespace-refused": namespace_refused,
    "not-managed": not_managed,
    "integration-off": integration_off,
    "just-created": just_created,
    "admitted": admitted,
    "no-workload": no_workload,
    "suspended-by-user": suspended_by_user,
    "no-kueue": no_kueue,
    "not-readable": not_readable,
}
