"""What docs/maintainers/simulated-pods.md promises of how pods run and end, in their status."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from localcluster.access.running import RunningCluster
from tests.support.builders.pods import pod_of_containers
from tests.support.cluster.simulated_pods import (
    INIT,
    RUNNING_STATE,
    TWO_CONTAINERS,
    Life,
    conditions,
    container,
    in_phase,
    is_planned,
    lived,
    masked,
    namespace,
    ran_for,
    terminated,
    time_of,
)

NAMESPACE = "simulated-pods"


@pytest.fixture(scope="module", autouse=True)
async def _namespace(cluster: RunningCluster) -> AsyncIterator[None]:
    async with namespace(cluster.client, NAMESPACE):
        yield


async def test_a_pod_that_sleeps_runs_so_long_and_succeeds(cluster: RunningCluster) -> None:
    sleeper = {"name": "main", "image": "busybox:1.36", "command": ["sh", "-c", "sleep 1"]}
    document = pod_of_containers("sleeps", NAMESPACE, containers=[sleeper], init_containers=INIT)

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
    # By the simulation's own clock: when a busy machine's watch told of it says nothing.
    assert ran_for(life.status["containerStatuses"][0]["state"]["terminated"]) >= timedelta(
        seconds=1
    )


async def test_a_sidecar_runs_as_long_as_the_pod(cluster: RunningCluster) -> None:
    sidecar = {"name": "proxy", "image": "proxy:4", "restartPolicy": "Always"}
    document = pod_of_containers(
        "sidecar", NAMESPACE, {"run-for": "100ms"}, init_containers=[*INIT, sidecar]
    )

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


async def test_run_for_wins_over_the_command(cluster: RunningCluster) -> None:
    sleeper = {"name": "main", "image": "trainer:1", "args": ["sleep", "600"]}
    document = pod_of_containers("run-for", NAMESPACE, {"run-for": "200ms"}, containers=[sleeper])

    life = await lived(cluster.client, document, in_phase("Succeeded"))

    assert ran_for(life.status["containerStatuses"][0]["state"]["terminated"]) < timedelta(
        minutes=9
    )


async def test_a_pod_that_is_always_restarted_runs_indefinitely(cluster: RunningCluster) -> None:
    sleeper = {"name": "main", "image": "trainer:1", "command": ["sleep", "1"]}
    document = pod_of_containers(
        "for-ever", NAMESPACE, restart_policy="Always", containers=[sleeper]
    )

    life = await lived(cluster.client, document, in_phase("Running"))

    assert not is_planned(life.last)


async def test_a_failure_leaves_its_exit_code_and_message(cluster: RunningCluster) -> None:
    message = 'rank 0: "CUDA error"\nsecond line: <x> & {{ y }}'
    wanted = {
        "run-for": "1s",
        "exit-code": "137",
        "reason": "OOMKilled",
        "termination-message": message,
    }
    document = pod_of_containers(
        "fails", NAMESPACE, wanted, containers=TWO_CONTAINERS, init_containers=INIT
    )

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
    assert ran_for(ended) >= timedelta(seconds=1)


async def test_the_failing_container_can_be_chosen(cluster: RunningCluster) -> None:
    wanted = {"run-for": "100ms", "exit-code": "3", "container": "logger"}
    document = pod_of_containers("chosen", NAMESPACE, wanted, containers=TWO_CONTAINERS)

    life = await lived(cluster.client, document, in_phase("Failed"))

    assert masked(life.status["containerStatuses"]) == [
        container("main", "trainer:1", terminated(0, "Completed")),
        container("logger", "logs:2", terminated(3, "Error")),
    ]


@pytest.mark.parametrize("restart_policy", ["OnFailure", "Always"])
async def test_a_restarted_container_loops(cluster: RunningCluster, restart_policy: str) -> None:
    wanted = {
        "run-for": "100ms",
        "exit-code": "3",
        "restart-after": "300ms",
        "termination-message": "boom",
    }
    name = f"loops-{restart_policy.lower()}"
    document = pod_of_containers(
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


async def test_it_can_recover_by_a_restart(cluster: RunningCluster) -> None:
    wanted = {"run-for": "100ms", "fail-restarts": "1", "restart-after": "100ms"}
    document = pod_of_containers("recovers", NAMESPACE, wanted, restart_policy="OnFailure")

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
    cluster: RunningCluster, attempt: str | None, phase: str
) -> None:
    labels = {"workload.codeflare.dev/attempt": attempt} if attempt else {}
    wanted = {"run-for": "100ms", "exit-code": "9", "fail-attempts": "2"}
    document = pod_of_containers(f"attempt-{attempt or 'none'}", NAMESPACE, wanted, labels=labels)

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
    cluster: RunningCluster, label: str, index: str, phase: str
) -> None:
    wanted = {"run-for": "100ms", "exit-code": "9", "fail-index": "2"}
    name = f"{label.partition('.')[0]}-{index}"
    document = pod_of_containers(name, NAMESPACE, wanted, labels={label: index})

    life = await lived(cluster.client, document, lambda life: "terminated" in str(life.status))

    assert life.status["phase"] == phase


@pytest.mark.parametrize(
    ("index", "message", "seconds"), [("1", "out of memory", 1), ("0", "connection reset", 3)]
)
async def test_the_others_fail_later_with_another_message(
    cluster: RunningCluster, index: str, message: str, seconds: int
) -> None:
    wanted = {
        "run-for": "1s",
        "exit-code": "9",
        "termination-message": "out of memory",
        "fail-index": "1",
        "others-fail-after": "2s",
        "others-message": "connection reset",
    }
    labels = {"training.kubeflow.org/replica-index": index}
    document = pod_of_containers(f"others-{index}", NAMESPACE, wanted, labels=labels)

    life = await lived(cluster.client, document, in_phase("Failed"))

    assert masked(life.status["containerStatuses"]) == [
        container("main", "trainer:1", terminated(9, "Error", message=message))
    ]
    ended = life.status["containerStatuses"][0]["state"]["terminated"]
    assert ran_for(ended) >= timedelta(seconds=seconds)


async def test_an_evicted_pod_reports_its_eviction(cluster: RunningCluster) -> None:
    document = pod_of_containers(
        "evicted", NAMESPACE, {"evict-after": "100ms"}, restart_policy="Always"
    )

    life = await lived(cluster.client, document, in_phase("Failed"))

    message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 20Mi. "
    assert (life.status["reason"], life.status["message"]) == ("Evicted", message)
    assert masked(life.status["containerStatuses"]) == [
        container("main", "trainer:1", terminated(137, "Error"))
    ]
    assert conditions(life.status)["DisruptionTarget"] == ("True", "TerminationByKubelet")
