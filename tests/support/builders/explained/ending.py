"""Situations between two attempts, and at the end of an AppWrapper."""

from collections.abc import Callable
from typing import Any

from cli.explaining.appwrapper_objects import AppWrapperObjects
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import with_quota_seconds
from tests.support.builders.explained.deployed import ENDED, FAILED_MESSAGE, STARTED
from tests.support.builders.explained.objects import (
    ASSUMED,
    RUNS,
    ago,
    appwrapper,
    condition,
    event,
    job,
    pod,
    seen,
    workload,
    world,
)

RESET = event(
    "FoundFailedPods",
    f"unhealthy; deleting its components before another attempt: {FAILED_MESSAGE}",
    40,
    "Warning",
)
GOES = {"deletionTimestamp": ago(-20), "deletionGracePeriodSeconds": 30}


def unhealthy(seconds: float = 40) -> JsonObject:
    """Builds the condition that led to the reset."""
    return condition("Unhealthy", "True", "FoundFailedPods", FAILED_MESSAGE, seconds)


def deletes(reason: str = "DeletionInitiated", message: str = "") -> JsonObject:
    """Builds the condition of a deletion under way."""
    return condition("DeletingResources", "True", reason, message, 40)


def retry_pause() -> AppWrapperObjects:
    """All components have been gone for half a minute; the pause has another minute."""
    item = appwrapper(
        "Resetting",
        condition("QuotaReserved", "True", "Resuming", seconds=900),
        condition("ResourcesDeployed", "False", "DeletionComplete", seconds=30),
        unhealthy(),
        attempt=1,
        retries=1,
        deployed="False",
        created=2000,
        timers={"retryPause": 30},
        suspects={"gpu-2": 40},
    )
    return seen(item, world(workload()), components=(None,), events=(STARTED, RESET))


def resetting() -> AppWrapperObjects:
    """Its pods are terminating."""
    pods = (
        pod(0, containers=[RUNS], metadata=GOES),
        pod(1, "Failed", containers=[ENDED], metadata=GOES),
    )
    return _deleting("Resetting", pods, job(deleting=True, finalizers=["foregroundDeletion"]))


def reset_blocked() -> AppWrapperObjects:
    """A finalizer keeps the Job, so the AppWrapper keeps its quota."""
    held = job(deleting=True, finalizers=["foregroundDeletion", "audit.example.com/keep"])
    blocker = "Job train has the finalizer audit.example.com/keep"
    return _deleting("Resetting", (), held, deletes("DeletionBlocked", blocker))


def suspending() -> AppWrapperObjects:
    """Kueue preempted it."""
    pods = (pod(0, containers=[RUNS], metadata=GOES),)
    return _deleting("Suspending", pods, job(deleting=True))


def pod_on_a_dead_node() -> AppWrapperObjects:
    """A pod's grace period ended two minutes ago; its node is unreachable."""
    late = {"deletionTimestamp": ago(120), "deletionGracePeriodSeconds": 30}
    blocker = "Pod train-0-x7k2p on node gpu-1, which is unreachable"
    pods = (pod(0, containers=[RUNS], metadata=late),)
    held = deletes("DeletionBlocked", blocker)
    return _deleting("Suspending", pods, job(deleting=True), held)


def terminating() -> AppWrapperObjects:
    """Its user deleted it, and another program's finalizer keeps the Job."""
    held = job(deleting=True, finalizers=["audit.example.com/keep"])
    metadata = {"deletionTimestamp": ago(200), "finalizers": ["workload.codeflare.dev/finalizer"]}
    return _deleting("Terminating", (), held, metadata=metadata)


def _deleting(
    phase: str,
    pods: tuple[JsonObject, ...],
    component: JsonObject,
    condition_now: JsonObject | None = None,
    **changes: Any,
) -> AppWrapperObjects:
    item = appwrapper(
        phase,
        condition("QuotaReserved", "True", "Resuming", seconds=900),
        condition("ResourcesDeployed", "True", "ComponentsCreated", seconds=900),
        unhealthy(),
        condition_now or deletes(),
        attempt=1,
        retries=1 if phase == "Resetting" else 0,
        deployed="True",
        created=2000,
        timers={"forcefulDeletion": 40},
        **changes,
    )
    return seen(item, world(workload()), pods=pods, components=(component,), events=(STARTED,))


def failed() -> AppWrapperObjects:
    """All retries are spent, and all components are deleted."""
    item = appwrapper(
        "Failed",
        condition("QuotaReserved", "False", "Failed", seconds=25),
        condition("ResourcesDeployed", "False", "DeletionComplete", seconds=25),
        unhealthy(),
        attempt=4,
        retries=3,
        deployed="False",
        created=9000,
    )
    item = with_quota_seconds(item, 2975)
    first = "unhealthy; deleting its components before another attempt"
    events = (
        event("Started", "Admitted by clusterQueue team1-cluster-queue", 3000),
        event("FoundFailedPods", f"{first}: 1 failed pod: train-0 on gpu-1", 2500, "Warning"),
        event("RetryPauseOver", "the pause is over; creating its components again", 2400),
        event("FailedComponent", f"{first}: Job train: BackoffLimitExceeded", 1900, "Warning"),
        event("RetryPauseOver", "the pause is over; creating its components again", 1800),
        event("InsufficientPodsReady", f"{first}: 1 of 2 pods exist", 1200, "Warning"),
        event("RetryPauseOver", "the pause is over; creating its components again", 1100),
        event("FoundFailedPods", f"failed: {FAILED_MESSAGE}", 40, "Warning"),
    )
    return seen(item, world(workload()), components=(None,), events=events)


def pod_refused_by_policy() -> AppWrapperObjects:
    """A wrapped Pod is privileged, and a policy allows the namespace only IPC_LOCK."""
    refused = (
        'spec.components[0]: 422 Invalid: pods "train" is forbidden: ValidatingAdmissionPolicy'
        " 'appwrapper-baseline-ipc-lock' with binding 'appwrapper-baseline-ipc-lock' denied"
        " request: containers must not set securityContext.privileged"
    )
    item = appwrapper(
        "Failed",
        condition("QuotaReserved", "False", "Failed", seconds=25),
        condition("ResourcesDeployed", "False", "DeletionComplete", seconds=25),
        condition("Unhealthy", "True", "CreateFailed", refused, seconds=30),
        attempt=1,
        deployed="False",
    )
    item = with_quota_seconds(item, 5)
    return seen(item, world(workload()), components=(None,))


def failed_and_kept() -> AppWrapperObjects:
    """Its user keeps the failed components for half an hour, to debug them."""
    item = appwrapper(
        "Failed",
        condition("QuotaReserved", "True", "Resuming", seconds=900),
        condition("ResourcesDeployed", "True", "ComponentsCreated", seconds=900),
        unhealthy(),
        attempt=1,
        deployed="True",
        created=2000,
        timers={"deletionOnFailure": 40},
        annotations={"deletionOnFailureGracePeriodDuration": "30m", "retryLimit": "0"},
    )
    return seen(
        item,
        world(workload(), settings=ASSUMED),
        pods=(pod(0, containers=[RUNS]), pod(1, "Failed", containers=[ENDED])),
        components=(job(active=1, failed=1),),
        events=(STARTED,),
    )


def succeeded() -> AppWrapperObjects:
    """It succeeded; its pods are kept for a week."""
    item = appwrapper(
        "Succeeded",
        condition("QuotaReserved", "False", "Succeeded", seconds=300),
        condition("ResourcesDeployed", "True", "ComponentsCreated", seconds=4200),
        condition("PodsReady", "True", "SufficientPodsReady", seconds=3900),
        condition("Unhealthy", "False", "Resuming", seconds=4200),
        attempt=1,
        deployed="True",
        created=4800,
        timers={"successTTL": 300},
    )
    item = with_quota_seconds(item, 3900)
    return seen(
        item,
        world(workload()),
        pods=(pod(0, "Succeeded"), pod(1, "Succeeded")),
        components=(job(succeeded=2),),
        events=(
            event(
                "FinishedWorkload", "Workload 'team1/appwrapper-train-1' is declared finished", 300
            ),
        ),
    )


def not_seen() -> AppWrapperObjects:
    """No controller has set its phase for ten minutes."""
    return seen(appwrapper(""))


def not_ours() -> AppWrapperObjects:
    """Another cluster runs it."""
    return seen(appwrapper("Suspended", spec={"managedBy": "kueue.x-k8s.io/multikueue"}))


SITUATIONS: dict[str, Callable[[], AppWrapperObjects]] = {
    "retry-pause": retry_pause,
    "resetting": resetting,
    "reset-blocked": reset_blocked,
    "suspending": suspending,
    "pod-on-a-dead-node": pod_on_a_dead_node,
    "terminating": terminating,
    "failed": failed,
    "pod-refused-by-policy": pod_refused_by_policy,
    "failed-and-kept": failed_and_kept,
    "succeeded": succeeded,
    "not-seen": not_seen,
    "not-ours": not_ours,
}
