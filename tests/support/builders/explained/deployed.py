"""Situations of an AppWrapper that holds its quota."""

from collections.abc import Callable
from dataclasses import replace

from cli.cluster.unread import Unread
from cli.explaining.appwrapper_objects import AppWrapperObjects
from shared.api.objects import JsonObject
from tests.support.builders.explained.objects import (
    ASSUMED,
    RUNS,
    ago,
    appwrapper,
    condition,
    container,
    event,
    held,
    job,
    pod,
    seen,
    workload,
    world,
)

STARTED = event("Started", "Admitted by clusterQueue team1-cluster-queue", 60)


def unschedulable() -> AppWrapperObjects:
    """One pod runs; for the other no node has enough GPUs free."""
    message = (
        "0/8 nodes are available: 8 Insufficient nvidia.com/gpu. preemption: 0/8 nodes are"
        " available: 8 No preemption victims found for incoming pod."
    )
    waits = condition("PodScheduled", "False", "Unschedulable", message)
    return seen(
        appwrapper(
            "Running", *held(), attempt=1, deployed="True", timers={"admission": 60, "warmup": 60}
        ),
        world(workload()),
        pods=(pod(0, containers=[RUNS]), pod(1, "Pending", node="-", conditions=[waits])),
        components=(job(active=2),),
        events=(STARTED,),
    )


def no_image() -> AppWrapperObjects:
    """The image of both pods cannot be pulled."""
    waits = container(
        {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x"'}}
    )
    return seen(
        appwrapper(
            "Running", *held(), attempt=1, deployed="True", timers={"admission": 60, "warmup": 60}
        ),
        world(workload()),
        pods=(pod(0, "Pending", containers=[waits]), pod(1, "Pending", containers=[waits])),
        components=(job(active=2),),
        events=(STARTED,),
    )


def runs() -> AppWrapperObjects:
    """All is well."""
    return seen(
        appwrapper("Running", *held(3660, ready=True), created=4000, attempt=1, deployed="True"),
        world(workload()),
        pods=(pod(0, containers=[RUNS]), pod(1, containers=[RUNS])),
        components=(job(active=2, ready=2),),
        events=(),
    )


def unreachable() -> AppWrapperObjects:
    """The node of one pod has not answered for half a minute."""
    text = (
        f"1 of 2 pods run; Pod train-1-x7k2p on node gpu-2, which does not answer since {ago(30)}"
    )
    item = appwrapper(
        "Running",
        *held(3660, ready=True)[:2],
        condition("PodsReady", "False", "InsufficientPodsReady", text, seconds=29),
        created=4000,
        attempt=1,
        deployed="True",
        timers={"admission": 29, "warmup": 29, "unready": 29},
    )
    return seen(
        item,
        world(workload()),
        pods=(pod(0, containers=[RUNS]), pod(1, containers=[RUNS])),
        components=(job(active=2, ready=1),),
        events=(),
    )


def gated() -> AppWrapperObjects:
    """Kueue has not assigned a topology yet."""
    gates = {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
    return _starting(
        pod(0, "Pending", node="-", spec=gates), pod(1, "Pending", node="-", spec=gates)
    )


def starting() -> AppWrapperObjects:
    """The kubelet is creating its containers."""
    waits = container({"waiting": {"reason": "ContainerCreating"}})
    return _starting(pod(0, containers=[RUNS]), pod(1, "Pending", containers=[waits]))


def no_config_map() -> AppWrapperObjects:
    """A ConfigMap that a container needs does not exist."""
    waits = container(
        {
            "waiting": {
                "reason": "CreateContainerConfigError",
                "message": 'configmap "settings" not found',
            }
        }
    )
    return _starting(pod(0, containers=[RUNS]), pod(1, "Pending", containers=[waits]))


def crashing() -> AppWrapperObjects:
    """A container crashes again and again; the other pod runs."""
    ended = {"exitCode": 1, "reason": "Error", "startedAt": ago(30), "finishedAt": ago(25)}
    loops = container(
        {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed"}},
        restartCount=3,
        lastState={"terminated": ended},
    )
    always = {"restartPolicy": "OnFailure"}
    return _starting(pod(0, containers=[RUNS]), pod(1, containers=[loops], spec=always))


def pods_missing() -> AppWrapperObjects:
    """A ResourceQuota allows the Job one pod only."""
    message = (
        'Error creating: pods "train-1-" is forbidden: exceeded quota: pods, requested: pods=1,'
        " used: pods=4, limited: pods=4"
    )
    warning = event("FailedCreate", message, 50, "Warning")
    warning["involvedObject"] = {"kind": "Job", "name": "train", "uid": "job-1"}
    return replace(_starting(pod(0, containers=[RUNS])), component_events=(warning,))


PRIVILEGED = (
    'violates PodSecurity "baseline:latest": privileged (container "main" must not set'
    " securityContext.privileged=true)"
)


def refused_by_pod_security() -> AppWrapperObjects:
    """The Job's pods are privileged, and the namespace enforces the level baseline."""
    warning = event(
        "FailedCreate", f'Error creating: pods "train-1-" is forbidden: {PRIVILEGED}', 50, "Warning"
    )
    warning["involvedObject"] = {"kind": "Job", "name": "train", "uid": "job-1"}
    return replace(_starting(), component_events=(warning,))


def _starting(*pods: JsonObject) -> AppWrapperObjects:
    """A minute after its components were created."""
    item = appwrapper(
        "Running", *held(), attempt=1, deployed="True", timers={"admission": 60, "warmup": 60}
    )
    return seen(
        item,
        world(workload()),
        pods=pods,
        components=(job(active=len(pods)),),
        events=(STARTED,),
    )


FAILED_MESSAGE = "1 failed pod: train-1-x7k2p on gpu-2 (exit code 139)"
ENDED = container({"terminated": {"exitCode": 139, "reason": "Error", "finishedAt": ago(21)}})


def unhealthy() -> AppWrapperObjects:
    """A pod failed 20 s ago; the Job has another 40 s to replace it."""
    return _unhealthy("FoundFailedPods", FAILED_MESSAGE, failure=20)


def resets_paused() -> AppWrapperObjects:
    """An admin paused all resets."""
    message = f"{FAILED_MESSAGE}; an admin has paused all resets (pauseResets)"
    return _unhealthy("ResetsPaused", message, failure=300)


def reset_throttled() -> AppWrapperObjects:
    """Very many AppWrappers are reset at the same time."""
    message = f"{FAILED_MESSAGE}; resets in this cluster are paced at 5 a second"
    return _unhealthy("ResetThrottled", message, failure=61)


def breaker_open() -> AppWrapperObjects:
    """An implausible number of nodes got a health label at the same time."""
    message = (
        "node gpu-2 (autopilot.ibm.com/gpuhealth=EVICT): pod train-1-x7k2p uses nvidia.com/gpu;"
        " 30 of 100 nodes with nvidia.com/gpu turned NoExecute within 10m: evacuations wait until"
        " an admin confirms"
    )
    return _unhealthy("EvacuationBreakerOpen", message, failed=False)


def _unhealthy(
    reason: str, message: str, *, failure: float = 0, failed: bool = True
) -> AppWrapperObjects:
    item = appwrapper(
        "Running",
        *held(900, ready=False)[:2],
        condition("PodsReady", "False", "InsufficientPodsReady", seconds=max(failure, 20)),
        condition("Unhealthy", "True", reason, message, seconds=max(failure, 20)),
        created=2000,
        attempt=2,
        retries=1,
        deployed="True",
        timers={"failure": failure} if failure else {},
    )
    second = pod(1, "Failed", containers=[ENDED]) if failed else pod(1, containers=[RUNS])
    pods = [pod(0, containers=[RUNS]), second]
    for each in pods:
        each["metadata"]["labels"]["workload.codeflare.dev/attempt"] = "2"
    made = job(active=1, failed=1)
    made["metadata"]["labels"]["workload.codeflare.dev/attempt"] = "2"
    first = "unhealthy; deleting its components before another attempt: 1 failed pod: train-0-abcde"
    return seen(
        item,
        world(workload()),
        pods=tuple(pods),
        components=(made,),
        events=(
            event("Started", "Admitted by clusterQueue team1-cluster-queue", 1800),
            event("FoundFailedPods", f"{first} on gpu-7 (exit code 1)", 1020, "Warning"),
            event("RetryPauseOver", "the pause is over; creating its components again", 900),
            event(reason, f"unhealthy: {message}", max(failure, 20), "Warning"),
        ),
    )


def cannot_create() -> AppWrapperObjects:
    """A ResourceQuota forbids another Job."""
    message = 'Job train: jobs.batch "train" is forbidden: exceeded quota: jobs, used: jobs=4'
    item = appwrapper(
        "Resuming",
        condition("QuotaReserved", "True", "Resuming", seconds=20),
        condition("ResourcesDeployed", "True", "CreateFailed", message, seconds=20),
        attempt=1,
        deployed="Unknown",
        timers={"admission": 20, "warmup": 20},
    )
    return seen(item, world(workload()), components=(None,), events=(STARTED,))


def creating() -> AppWrapperObjects:
    """Kueue admitted it a second ago."""
    item = appwrapper(
        "Resuming",
        condition("QuotaReserved", "True", "Resuming", seconds=1),
        condition("ResourcesDeployed", "True", "Resuming", seconds=1),
        attempt=1,
        deployed="Unknown",
        timers={"admission": 1, "warmup": 1},
    )
    return seen(item, world(workload()), components=(None,), events=(STARTED,))


def namespace_ends() -> AppWrapperObjects:
    """A user deleted the namespace."""
    message = "its namespace is being deleted, and everything in it"
    item = appwrapper(
        "Running",
        condition("QuotaReserved", "True", "Resuming", seconds=900),
        condition("ResourcesDeployed", "True", "NamespaceTerminating", message, seconds=900),
        attempt=1,
        deployed="True",
        created=2000,
    )
    going = {"deletionTimestamp": ago(-20), "deletionGracePeriodSeconds": 30}
    pods = (pod(0, containers=[RUNS], metadata=going),)
    return seen(item, world(workload()), pods=pods, components=(job(deleting=True),))


def outlived() -> AppWrapperObjects:
    """The Job is Complete, and one of its pods still runs."""
    item = appwrapper(
        "Running",
        *held(900, ready=True),
        attempt=1,
        deployed="True",
        timers={"stragglers": 15},
        created=2000,
    )
    complete = job(conditions=[condition("Complete", "True", "CompletionsReached")], succeeded=2)
    return seen(
        item,
        world(workload()),
        pods=(pod(0, "Succeeded"), pod(1, containers=[RUNS])),
        components=(complete,),
    )


def pods_not_readable() -> AppWrapperObjects:
    """A user with the right to read AppWrappers and nothing else."""

    def no(what: str, why: str) -> Unread:
        return Unread(what, why, forbidden=True)

    item = appwrapper("Running", *held(900, ready=True), attempt=1, deployed="True", created=2000)
    return seen(
        item,
        world(settings=ASSUMED, own_workloads=no("workloads of namespace team1", "no right")),
        pods=no("pods of namespace team1: what its pods do", "no right to list them"),
        components=(no("Job train", "no right to get it"),),
        events=no("events of namespace team1: what happened to it", "no right to list them"),
    )


SITUATIONS: dict[str, Callable[[], AppWrapperObjects]] = {
    "unschedulable": unschedulable,
    "no-image": no_image,
    "unreachable": unreachable,
    "gated": gated,
    "starting": starting,
    "no-config-map": no_config_map,
    "crashing": crashing,
    "pods-missing": pods_missing,
    "refused-by-pod-security": refused_by_pod_security,
    "unhealthy": unhealthy,
    "resets-paused": resets_paused,
    "reset-throttled": reset_throttled,
    "breaker-open": breaker_open,
    "creating": creating,
    "cannot-create": cannot_create,
    "namespace-ends": namespace_ends,
    "outlived": outlived,
    "pods-not-readable": pods_not_readable,
    "runs": runs,
}
