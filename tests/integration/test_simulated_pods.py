"""What docs/simulated-pods.md promises of each annotation, seen in the status of real pods."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from localcluster.cluster import LocalCluster
from localcluster.installers.kwok import HEARTBEAT_LABEL, HEARTBEAT_STOPPED
from shared.api.json import JsonObject
from shared.kube.client import PatchType, Propagation
from shared.kube.errors import NotFound
from shared.kube.resource import NODES, PODS, Resource
from tests.simulated_pods import (
    PREFIX,
    Life,
    conditions,
    died,
    in_phase,
    is_planned,
    lived,
    masked,
    pod,
    ran_for,
    service_account_exists,
    time_of,
)

NAMESPACE = "simulated-pods"
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
TWO_CONTAINERS = ({"name": "main", "image": "trainer:1"}, {"name": "logger", "image": "logs:2"})
INIT = ({"name": "prepare", "image": "prepare:3"},)
RUNNING_STATE = {"running": {"startedAt": "TIME"}}


@pytest.fixture(scope="module", autouse=True)
async def namespace(cluster: LocalCluster) -> AsyncIterator[None]:
    await cluster.apply(
        [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    )
    await service_account_exists(cluster.client, NAMESPACE)
    yield
    await cluster.client.delete(
        NAMESPACES, None, NAMESPACE, uid=None, propagation=Propagation.BACKGROUND
    )


def container(name: str, image: str, state: JsonObject, **fields: object) -> JsonObject:
    """A masked container status as the API server shows it."""
    return {
        "name": name,
        "image": image,
        "imageID": "IMAGE-ID",
        "containerID": "ID",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "lastState": {},
        "state": state,
    } | fields


def terminated(code: int, reason: str, **fields: object) -> JsonObject:
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "startedAt": "TIME",
            "finishedAt": "TIME",
            "containerID": "ID",
        }
        | fields
    }


async def test_a_pod_that_sleeps_runs_so_long_and_succeeds(cluster: LocalCluster) -> None:
    sleeper = {"name": "main", "image": "busybox:1.36", "command": ["sh", "-c", "sleep 1"]}
    document = pod("sleeps", NAMESPACE, containers=[sleeper], init_containers=INIT)

    life = await lived(cluster.client, document, in_phase("Succeeded"))

    running = next(each for each in life.states if each["status"].get("phase") == "Running")
    status = running["status"]
    assert masked(status["containerStatuses"]) == [
        container("main", "busybox:1.36", RUNNING_STATE, ready=True, started=True)
    ]
    done = terminated(0, "Completed")
    assert masked(status["initContainerStatuses"]) == [
        container("prepare", "prepare:3", done, ready=True)
    ]
    assert conditions(status) == {
        "PodScheduled": ("True", None),
        "PodReadyToStartContainers": ("True", None),
        "Initialized": ("True", None),
        "Ready": ("True", None),
        "ContainersReady": ("True", None),
    }
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["podIP"].startswith("10.244.")
    assert status["hostIPs"] == [{"ip": status["hostIP"]}]
    assert time_of(status["startTime"]) >= time_of(running["metadata"]["creationTimestamp"])

    assert masked(life.status["containerStatuses"]) == [container("main", "busybox:1.36", done)]
    assert conditions(life.status) == {
        "PodScheduled": ("True", None),
        "PodReadyToStartContainers": ("False", None),
        "Initialized": ("True", "PodCompleted"),
        "Ready": ("False", "PodCompleted"),
        "ContainersReady": ("False", "PodCompleted"),
    }
    assert life.status["podIP"] == status["podIP"]
    began = life.first_seen(lambda state: state["status"].get("phase") == "Running")
    assert timedelta(seconds=0.9) < life.seen_at[-1] - began < timedelta(seconds=5)


async def test_a_sidecar_runs_as_long_as_the_pod(cluster: LocalCluster) -> None:
    sidecar = {"name": "proxy", "image": "proxy:4", "restartPolicy": "Always"}
    document = pod("sidecar", NAMESPACE, {"run-for": "100ms"}, init_containers=[*INIT, sidecar])

    life = await lived(cluster.client, document, in_phase("Succeeded"))

    done = terminated(0, "Completed")
    running = next(each for each in life.states if each["status"].get("phase") == "Running")
    prepared = container("prepare", "prepare:3", done, ready=True)
    assert masked(running["status"]["initContainerStatuses"]) == [
        prepared,
        container("proxy", "proxy:4", RUNNING_STATE, ready=True, started=True),
    ]
    assert masked(life.status["initContainerStatuses"]) == [
        prepared,
        container("proxy", "proxy:4", done),
    ]


async def test_run_for_wins_over_the_command(cluster: LocalCluster) -> None:
    sleeper = {"name": "main", "image": "trainer:1", "args": ["sleep", "600"]}
    document = pod("run-for", NAMESPACE, {"run-for": "200ms"}, containers=[sleeper])

    life = await lived(cluster.client, document, in_phase("Succeeded"))

    began = life.first_seen(lambda state: state["status"].get("phase") == "Running")
    assert timedelta(seconds=0.1) < life.seen_at[-1] - began < timedelta(seconds=5)


async def test_a_pod_that_is_always_restarted_runs_for_ever(cluster: LocalCluster) -> None:
    sleeper = {"name": "main", "image": "trainer:1", "command": ["sleep", "1"]}
    document = pod("for-ever", NAMESPACE, restart_policy="Always", containers=[sleeper])

    life = await lived(cluster.client, document, in_phase("Running"))

    assert not is_planned(life.last)


async def test_a_failure_leaves_its_exit_code_and_message(cluster: LocalCluster) -> None:
    message = 'rank 0: "CUDA error"\nsecond line: <x> & {{ y }}'
    wanted = {
        "run-for": "1s",
        "exit-code": "137",
        "reason": "OOMKilled",
        "termination-message": message,
    }
    document = pod("fails", NAMESPACE, wanted, containers=TWO_CONTAINERS, init_containers=INIT)

    life = await lived(cluster.client, document, in_phase("Failed"))

    assert masked(life.status["containerStatuses"]) == [
        container("main", "trainer:1", terminated(137, "OOMKilled", message=message)),
        container("logger", "logs:2", terminated(0, "Completed")),
    ]
    assert masked(life.status["initContainerStatuses"]) == [
        container("prepare", "prepare:3", terminated(0, "Completed"), ready=True)
    ]
    assert conditions(life.status) == {
        "PodScheduled": ("True", None),
        "PodReadyToStartContainers": ("False", None),
        "Initialized": ("True", None),
        "Ready": ("False", "PodFailed"),
        "ContainersReady": ("False", "PodFailed"),
    }
    ended = life.status["containerStatuses"][0]["state"]["terminated"]
    assert timedelta(seconds=1) <= ran_for(ended) <= timedelta(seconds=5)


async def test_the_failing_container_can_be_chosen(cluster: LocalCluster) -> None:
    wanted = {"run-for": "100ms", "exit-code": "3", "container": "logger"}
    document = pod("chosen", NAMESPACE, wanted, containers=TWO_CONTAINERS)

    life = await lived(cluster.client, document, in_phase("Failed"))

    assert masked(life.status["containerStatuses"]) == [
        container("main", "trainer:1", terminated(0, "Completed")),
        container("logger", "logs:2", terminated(3, "Error")),
    ]


@pytest.mark.parametrize("restart_policy", ["OnFailure", "Always"])
async def test_a_restarted_container_loops(cluster: LocalCluster, restart_policy: str) -> None:
    wanted = {
        "run-for": "100ms",
        "exit-code": "3",
        "restart-after": "300ms",
        "termination-message": "boom",
    }
    name = f"loops-{restart_policy.lower()}"
    document = pod(
        name, NAMESPACE, wanted, restart_policy=restart_policy, containers=TWO_CONTAINERS
    )

    def in_second_back_off(life: Life) -> bool:
        first = life.status.get("containerStatuses", [{}])[0]
        return first.get("restartCount") == 1 and "waiting" in first["state"]

    life = await lived(cluster.client, document, in_second_back_off)

    identity = f"{name}_{NAMESPACE}({life.last['metadata']['uid']})"
    back_off = {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": f"back-off 300ms restarting failed container=main pod={identity}",
        }
    }
    failure = terminated(3, "Error", message="boom")
    seen = [
        masked(each["status"]["containerStatuses"][0])
        for each in life.states
        if each["status"].get("containerStatuses")
    ]
    assert seen == [
        container("main", "trainer:1", RUNNING_STATE, ready=True, started=True),
        container("main", "trainer:1", back_off, lastState=failure),
        container(
            "main",
            "trainer:1",
            RUNNING_STATE,
            ready=True,
            started=True,
            restartCount=1,
            lastState=failure,
        ),
        container("main", "trainer:1", back_off, restartCount=1, lastState=failure),
    ]
    assert {each["status"]["phase"] for each in life.states} == {"Pending", "Running"}
    assert conditions(life.status)["Ready"] == ("False", "ContainersNotReady")
    # The other container runs on through it all.
    assert masked(life.status["containerStatuses"][1]) == container(
        "logger", "logs:2", RUNNING_STATE, ready=True, started=True
    )


async def test_it_can_recover_by_a_restart(cluster: LocalCluster) -> None:
    wanted = {"run-for": "100ms", "fail-restarts": "1", "restart-after": "100ms"}
    document = pod("recovers", NAMESPACE, wanted, restart_policy="OnFailure")

    life = await lived(cluster.client, document, in_phase("Succeeded"))

    assert masked(life.status["containerStatuses"]) == [
        container(
            "main",
            "trainer:1",
            terminated(0, "Completed"),
            restartCount=1,
            lastState=terminated(1, "Error"),
        )
    ]


@pytest.mark.parametrize(
    ("attempt", "phase"),
    [(None, "Failed"), ("2", "Failed"), ("3", "Succeeded")],
    ids=["the first attempt, unlabelled", "the last that fails", "the first that does not"],
)
async def test_only_the_first_attempts_fail(
    cluster: LocalCluster, attempt: str | None, phase: str
) -> None:
    labels = {"workload.codeflare.dev/attempt": attempt} if attempt else {}
    wanted = {"run-for": "100ms", "exit-code": "9", "fail-attempts": "2"}
    document = pod(f"attempt-{attempt or 'none'}", NAMESPACE, wanted, labels=labels)

    life = await lived(cluster.client, document, lambda life: "terminated" in str(life.status))

    assert life.status["phase"] == phase
    ended = terminated(0, "Completed") if phase == "Succeeded" else terminated(9, "Error")
    assert masked(life.status["containerStatuses"]) == [container("main", "trainer:1", ended)]


@pytest.mark.parametrize(
    ("label", "index", "phase"),
    [
        ("batch.kubernetes.io/job-completion-index", "2", "Failed"),
        ("batch.kubernetes.io/job-completion-index", "1", "Succeeded"),
        ("training.kubeflow.org/replica-index", "2", "Failed"),
        ("apps.kubernetes.io/pod-index", "2", "Failed"),
    ],
)
async def test_only_one_index_fails(
    cluster: LocalCluster, label: str, index: str, phase: str
) -> None:
    wanted = {"run-for": "100ms", "exit-code": "9", "fail-index": "2"}
    name = f"{label.partition('.')[0]}-{index}"
    document = pod(name, NAMESPACE, wanted, labels={label: index})

    life = await lived(cluster.client, document, lambda life: "terminated" in str(life.status))

    assert life.status["phase"] == phase


async def test_hang_pending_never_creates_a_container(cluster: LocalCluster) -> None:
    document = pod("hangs-pending", NAMESPACE, {"hang": "pending"})

    life = await lived(cluster.client, document, lambda life: "hostIP" in life.status)

    waiting = {"waiting": {"reason": "ContainerCreating"}}
    status = container("main", "trainer:1", waiting, imageID="")
    del status["containerID"]
    assert masked(life.status["containerStatuses"]) == [status]
    assert life.status["phase"] == "Pending"
    assert conditions(life.status) == {
        "PodScheduled": ("True", None),
        "PodReadyToStartContainers": ("False", None),
        "Initialized": ("True", None),
        "Ready": ("False", "ContainersNotReady"),
        "ContainersReady": ("False", "ContainersNotReady"),
    }
    assert not is_planned(life.last)


async def test_hang_init_never_gets_past_the_init_container(cluster: LocalCluster) -> None:
    document = pod("hangs-init", NAMESPACE, {"hang": "init"}, init_containers=INIT)

    life = await lived(cluster.client, document, lambda life: "hostIP" in life.status)

    status = container("main", "trainer:1", {"waiting": {"reason": "PodInitializing"}}, imageID="")
    del status["containerID"]
    assert masked(life.status["containerStatuses"]) == [status]
    assert masked(life.status["initContainerStatuses"]) == [
        container("prepare", "prepare:3", RUNNING_STATE, started=True)
    ]
    assert life.status["phase"] == "Pending"
    assert conditions(life.status)["Initialized"] == ("False", "ContainersNotInitialized")


async def test_hang_running_never_ends(cluster: LocalCluster) -> None:
    wanted = {"hang": "running", "run-for": "100ms"}
    life = await lived(cluster.client, pod("hangs-running", NAMESPACE, wanted), in_phase("Running"))
    assert not is_planned(life.last)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"run-for": "5 seconds"},
            f'annotation {PREFIX}run-for: "5 seconds" is not a duration; write it like 5s, 1m30s'
            " or 200ms",
        ),
        (
            {"exit-code": "three"},
            f'annotation {PREFIX}exit-code: "three" is not a number; write it like 3, in quotes',
        ),
        (
            {"hang": "forever"},
            f'annotation {PREFIX}hang: "forever" is not one of pending, init, running',
        ),
        (
            {"hang": "init"},
            f'annotation {PREFIX}hang: "init" needs an init container, and the pod has none',
        ),
    ],
    ids=["duration", "number", "hang", "no init container"],
)
async def test_what_cannot_be_acted_out_is_said(
    cluster: LocalCluster, wanted: dict[str, str], message: str
) -> None:
    name = f"bad-{'-'.join(wanted)}-{len(message)}"

    life = await lived(
        cluster.client, pod(name, NAMESPACE, wanted), lambda life: "hostIP" in life.status
    )

    assert life.status["phase"] == "Pending"
    (status,) = life.status["containerStatuses"]
    assert status["state"] == {
        "waiting": {"reason": "CreateContainerConfigError", "message": message}
    }


async def test_start_after_delays_the_start(cluster: LocalCluster) -> None:
    wanted = {"start-after": "1s", "run-for": "100ms"}
    document = pod("starts-late", NAMESPACE, wanted, init_containers=INIT)

    life = await lived(cluster.client, document, in_phase("Succeeded"))

    reasons = [
        each["status"]["containerStatuses"][0]["state"].get("waiting", {}).get("reason")
        for each in life.states
        if "containerStatuses" in each["status"]
    ]
    assert reasons == ["PodInitializing", None, None]
    held = life.first_seen(lambda state: "containerStatuses" in state["status"])
    began = life.first_seen(lambda state: state["status"].get("phase") == "Running")
    assert timedelta(seconds=0.9) < began - held < timedelta(seconds=5)


async def test_an_evicted_pod_says_so(cluster: LocalCluster) -> None:
    document = pod("evicted", NAMESPACE, {"evict-after": "100ms"}, restart_policy="Always")

    life = await lived(cluster.client, document, in_phase("Failed"))

    message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 20Mi. "
    assert (life.status["reason"], life.status["message"]) == ("Evicted", message)
    assert masked(life.status["containerStatuses"]) == [
        container("main", "trainer:1", terminated(137, "Error"))
    ]
    assert conditions(life.status)["DisruptionTarget"] == ("True", "TerminationByKubelet")


async def test_a_deleted_pod_reports_its_end_and_is_gone(cluster: LocalCluster) -> None:
    document = pod("deleted", NAMESPACE, restart_policy="Always")

    life = await died(cluster.client, document, grace=None)

    assert life.seen_at[-1] - life.seen_at[0] < timedelta(seconds=5)
    assert life.status["phase"] == "Failed"
    assert masked(life.status["containerStatuses"]) == [
        container("main", "trainer:1", terminated(143, "Error"))
    ]
    with pytest.raises(NotFound):
        await cluster.client.get(PODS, NAMESPACE, "deleted")


async def test_a_deletion_can_be_ignored_for_a_time(cluster: LocalCluster) -> None:
    wanted = {"ignore-deletion-for": "2s"}
    document = pod("stubborn", NAMESPACE, wanted, restart_policy="Always")

    life = await died(cluster.client, document, grace=None)

    assert life.seen_at[-1] - life.seen_at[0] > timedelta(seconds=1.9)
    being_deleted = [each for each in life.states if "deletionTimestamp" in each["metadata"]]
    assert being_deleted[0]["status"]["phase"] == "Running"
    assert life.status["phase"] == "Failed"


async def test_a_deletion_without_grace_is_never_ignored(cluster: LocalCluster) -> None:
    wanted = {"ignore-deletion-for": "10m"}
    document = pod("killed", NAMESPACE, wanted, restart_policy="Always")

    life = await died(cluster.client, document, grace=0)

    # Removed by the API server: nobody reported an end.
    assert life.status["phase"] == "Running"
    assert life.seen_at[-1] - life.seen_at[0] < timedelta(seconds=5)


@pytest.mark.slow
async def test_a_node_without_heartbeat_becomes_unreachable(cluster: LocalCluster) -> None:
    node = "gpu-node-8"

    async def set_heartbeat(value: str | None) -> None:
        change = {"metadata": {"labels": {HEARTBEAT_LABEL: value}}}
        await cluster.client.patch(NODES, None, node, change, PatchType.MERGE)

    async def becomes(*, unreachable: bool) -> None:
        async with asyncio.timeout(120):
            while True:
                taints = (await cluster.client.get(NODES, None, node))["spec"].get("taints", [])
                keys = {taint["key"] for taint in taints}
                if ("node.kubernetes.io/unreachable" in keys) is unreachable:
                    return
                await asyncio.sleep(0.5)

    await set_heartbeat(HEARTBEAT_STOPPED)
    try:
        await becomes(unreachable=True)
    finally:
        await set_heartbeat(None)
    await becomes(unreachable=False)
