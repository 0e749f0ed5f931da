"""What docs/maintainers/simulated-pods.md promises of pods that do not start or go.

That a node without heartbeat becomes unreachable, and comes back, takes most of a minute:
test_deletion_blocked.py waits for both.
"""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from localcluster.cluster import LocalCluster
from shared.api.objects import PODS
from shared.kube.client import NotFound
from tests.support.builders.pods import SIMULATION, pod_of_containers
from tests.support.cluster.simulated_pods import (
    INIT,
    RUNNING_STATE,
    conditions,
    container,
    died,
    in_phase,
    is_planned,
    lived,
    masked,
    namespace,
    terminated,
    time_of,
)

pytestmark = pytest.mark.long

NAMESPACE = "simulated-delays"
GRACE = timedelta(seconds=30)  # what a pod has that names none


@pytest.fixture(scope="module", autouse=True)
async def _namespace(cluster: LocalCluster) -> AsyncIterator[None]:
    async with namespace(cluster.client, NAMESPACE):
        yield


async def test_hang_pending_never_creates_a_container(cluster: LocalCluster) -> None:
    document = pod_of_containers("hangs-pending", NAMESPACE, {"hang": "pending"})

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
    document = pod_of_containers("hangs-init", NAMESPACE, {"hang": "init"}, init_containers=INIT)

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
    life = await lived(
        cluster.client, pod_of_containers("hangs-running", NAMESPACE, wanted), in_phase("Running")
    )
    assert not is_planned(life.last)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"run-for": "5 seconds"},
            f'annotation {SIMULATION}run-for: "5 seconds" is not a duration; '
            "write it like 5s, 1m30s or 200ms",
        ),
        (
            {"exit-code": "three"},
            f'annotation {SIMULATION}exit-code: "three" is not a number; '
            "write it like 3, in quotes",
        ),
        (
            {"hang": "forever"},
            f'annotation {SIMULATION}hang: "forever" is not one of pending, init, running',
        ),
        (
            {"hang": "init"},
            f'annotation {SIMULATION}hang: "init" needs an init container, and the pod has none',
        ),
    ],
    ids=["duration", "number", "hang", "no init container"],
)
async def test_an_unusable_simulation_annotation_is_reported(
    cluster: LocalCluster, wanted: dict[str, str], message: str
) -> None:
    name = f"bad-{'-'.join(wanted)}-{len(message)}"

    life = await lived(
        cluster.client,
        pod_of_containers(name, NAMESPACE, wanted),
        lambda life: "hostIP" in life.status,
    )

    assert life.status["phase"] == "Pending"
    (status,) = life.status["containerStatuses"]
    assert status["state"] == {
        "waiting": {"reason": "CreateContainerConfigError", "message": message}
    }


async def test_start_after_delays_the_start(cluster: LocalCluster) -> None:
    wanted = {"start-after": "1s", "run-for": "100ms"}
    document = pod_of_containers("starts-late", NAMESPACE, wanted, init_containers=INIT)

    life = await lived(cluster.client, document, in_phase("Succeeded"))

    reasons = [
        each["status"]["containerStatuses"][0]["state"].get("waiting", {}).get("reason")
        for each in life.states
        if "containerStatuses" in each["status"]
    ]
    assert reasons == ["PodInitializing", None, None]
    # By the simulation's own clock: when a busy machine's watch told of it says nothing.
    ended = life.status["containerStatuses"][0]["state"]["terminated"]
    assert time_of(ended["startedAt"]) - time_of(life.status["startTime"]) >= timedelta(seconds=1)


async def test_a_pod_that_starts_late_may_run_indefinitely(cluster: LocalCluster) -> None:
    wanted = {"start-after": "200ms", "hang": "running"}
    document = pod_of_containers("late-for-ever", NAMESPACE, wanted)
    life = await lived(cluster.client, document, in_phase("Running"))
    # Nothing is to come.
    assert (
        "simulation.localcluster.dev/next-step-at" not in life.states[-1]["metadata"]["annotations"]
    )


async def test_a_deleted_pod_reports_its_end_and_is_gone(cluster: LocalCluster) -> None:
    document = pod_of_containers("deleted", NAMESPACE, restart_policy="Always")

    life = await died(cluster.client, document, grace=None)

    # By the simulation's own clock: when a busy machine's watch told of it says nothing.
    ended = life.status["containerStatuses"][0]["state"]["terminated"]
    asked = next(
        each["metadata"] for each in life.states if "deletionTimestamp" in each["metadata"]
    )
    assert time_of(ended["finishedAt"]) < time_of(asked["deletionTimestamp"])  # after GRACE
    assert life.status["phase"] == "Failed"
    assert masked(life.status["containerStatuses"]) == [
        container("main", "trainer:1", terminated(143, "Error"))
    ]
    with pytest.raises(NotFound):
        await cluster.client.get(PODS, NAMESPACE, "deleted")


async def test_a_deletion_can_be_ignored_for_a_time(cluster: LocalCluster) -> None:
    wanted = {"ignore-deletion-for": "2s"}
    document = pod_of_containers("stubborn", NAMESPACE, wanted, restart_policy="Always")

    life = await died(cluster.client, document, grace=None)

    asked = time_of(life.last["metadata"]["deletionTimestamp"]) - GRACE
    ended = life.status["containerStatuses"][0]["state"]["terminated"]
    assert time_of(ended["finishedAt"]) - asked >= timedelta(seconds=2)
    being_deleted = [each for each in life.states if "deletionTimestamp" in each["metadata"]]
    assert being_deleted[0]["status"]["phase"] == "Running"
    assert life.status["phase"] == "Failed"


async def test_a_deletion_without_grace_is_never_ignored(cluster: LocalCluster) -> None:
    wanted = {"ignore-deletion-for": "1h"}  # longer than a test waits
    document = pod_of_containers("killed", NAMESPACE, wanted, restart_policy="Always")

    life = await died(cluster.client, document, grace=0)

    # Removed by the API server: nobody reported an end.
    assert life.status["phase"] == "Running"


async def test_a_deletion_that_comes_to_sigkill_is_not_ignored(cluster: LocalCluster) -> None:
    """Deleted once more, with one second left: the simulated kubelet kills, and says so."""
    wanted = {"ignore-deletion-for": "1h"}  # longer than a test waits
    document = pod_of_containers("cut-short", NAMESPACE, wanted, restart_policy="Always")

    life = await died(cluster.client, document, grace=1)

    assert life.status["phase"] == "Failed"
