"""AppWrappers of nearly a megabyte live a whole life, with a reset.

What the platform allows: 1.5 MiB for a request to etcd, 1 MiB for the data of a ConfigMap. Kueue
copies containers without their environment into its Workload, arguments included.
"""

import json
from collections.abc import Callable

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import CONFIGMAPS, PODS, JsonObject
from shared.kube.client import KubeClient
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions
from tests.support.builders.jobs import job
from tests.support.cluster.followed import followed
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.workloads import workload_of
from tests.support.team import NAMESPACE

LARGE = 922 << 10  # bytes; 0.9 MiB
Making = Callable[[str], JsonObject]
# Through one failure to success.
PHASES = [
    "",
    "Suspended",
    "Resuming",
    "Running",
    "Resetting",
    "Resuming",
    "Running",
    "Succeeded",
]


@pytest.fixture
def client(cluster: RunningCluster) -> KubeClient:
    return cluster.client


def training(name: str) -> JsonObject:
    """It fails in its first attempt and succeeds in the second."""
    return job(name, pods=1, run_for="300ms", fail_attempts="1", exit_code="1")


def text(size: int) -> str:
    """As little repetitive as it must be for nobody to make it smaller."""
    return "".join(f"{number:08x}" for number in range(size // 8))


def with_config_map(name: str) -> JsonObject:
    data = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {f"part-{part}": text(LARGE // 10) for part in range(10)},
    }
    return appwrapper(name, data, training(name), annotations=AT_ONCE)


def with_environment(name: str) -> JsonObject:
    """Many small values, which all have an entry of their own in every pod."""
    wrapped = training(name)
    (container,) = wrapped["spec"]["template"]["spec"]["containers"]
    container["env"] = [
        {"name": f"VARIABLE_{number}", "value": text(400)} for number in range(LARGE // 430)
    ]
    return appwrapper(name, wrapped, annotations=AT_ONCE)


def with_arguments(name: str) -> JsonObject:
    """Kueue's Workload gets them all, too."""
    wrapped = training(name)
    (container,) = wrapped["spec"]["template"]["spec"]["containers"]
    container["args"] = [text(LARGE // 10) for _ in range(10)]
    return appwrapper(name, wrapped, annotations=AT_ONCE)


@pytest.mark.parametrize(
    "making",
    [
        with_config_map,
        pytest.param(with_environment, marks=pytest.mark.long),
        pytest.param(with_arguments, marks=pytest.mark.long),
    ],
)
async def test_it_lives_a_whole_life_with_a_reset(client: KubeClient, making: Making) -> None:
    name = making.__name__.replace("with_", "large-").replace("_", "-")
    body = making(name)
    assert LARGE <= len(json.dumps(body)) < 1 << 20
    async with followed(client, NAMESPACE, body) as life:
        await until_it_succeeded(life, client, name)
        await life.check_the_promise_to_kueue()
    assert not await exists(client, CONFIGMAPS, NAMESPACE, name)
    assert await listed(client, PODS, NAMESPACE, f"workload.codeflare.dev/appwrapper={name}") == []


async def until_it_succeeded(life: Life, client: KubeClient, name: str) -> None:
    ended = await life.until_phase("Succeeded")
    assert life.phases() == PHASES, life.story()
    assert ended["status"]["attempt"] == 2
    assert true_conditions(ended) == {"ResourcesDeployed", "PodsReady"}
    workload = await workload_of(client, ended["metadata"]["uid"])
    assert workload["spec"]["podSets"][0]["count"] == 1
    pods = await listed(client, PODS, NAMESPACE, f"workload.codeflare.dev/appwrapper={name}")
    assert [each["status"]["phase"] for each in pods] == ["Succeeded"]
