"""Bad statuses that stay as they are while it runs, or that a controller finds at its start.

Passes over all AppWrappers are counted, and the controller is restarted: nobody else may be there.
What becomes of other bad statuses stands in shared/test_bad_statuses.py.
"""

import pytest

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import KubeClient, PatchType
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job
from tests.support.cluster.followed import followed
from tests.support.cluster.hot_loops import nothing_is_hot
from tests.support.cluster.life import listed
from tests.support.cluster.spoilt_statuses import (
    ENTRY,
    LATE,
    RUNS,
    all_spoilt,
    named,
    nothing_left,
    odd,
    spoil,
    timer,
)
from tests.support.observer.controller_words import ControllerWords
from tests.support.team import NAMESPACE


@pytest.fixture
def client(cluster: LocalCluster) -> KubeClient:
    return cluster.client


async def one_beside_it_completes(client: KubeClient) -> None:
    async with followed(
        client, NAMESPACE, appwrapper("beside", job("beside", pods=1, run_for="100ms"))
    ) as life:
        await life.until_phase("Succeeded")


GOES_ON: dict[str, JsonObject] = {
    "timers of other moments": {"timers": {"warmup": timer(phase="Foo"), "x": timer(attempt=9)}},
    "timers before the first year": {"timers": {"warmup": timer(), "failure": timer()}},
    "timers of the far future": {"timers": {"warmup": timer(began=LATE), "failure": {"x": []}}},
    "conditions nobody knows": {"conditions": [odd("Foo"), odd("PodsReady"), odd("Unhealthy")]},
    "no record of components": {"componentStatus": None},
    "an empty record": {"componentStatus": []},
    "a record of more": {"componentStatus": [ENTRY] * 3},
    "a record of others": {"componentStatus": [{**ENTRY, "name": "other", "kind": "Pod"}]},
    "a record without names": {"componentStatus": [{**ENTRY, "name": "", "kind": ""}]},
    "odd numbers": {"resettingCount": -(2**31)},
    "odd extras": {"rootCause": {"x": [1]}, "errorHistory": [{}, {"y": {}}]},
}
NAMES = named("goes-on", GOES_ON)


@pytest.mark.writes_status(*NAMES.values())
async def test_running_appwrappers_keep_running(
    client: KubeClient, controller_words: ControllerWords
) -> None:
    async with all_spoilt(client, NAMES, GOES_ON) as spoilt:
        await nothing_is_hot(controller_words)
        await one_beside_it_completes(client)
        for status, (_, version) in spoilt.items():
            name = NAMES[status]
            now = await client.get(APPWRAPPERS, NAMESPACE, name)
            assert (phase(now), now["status"]["attempt"]) == ("Running", 1), status
            assert version_of(now) >= version
            label = f"workload.codeflare.dev/appwrapper={name}"
            pods = await listed(client, PODS, NAMESPACE, label)
            assert [each["status"]["phase"] for each in pods] == ["Running"] * 2, status


@pytest.mark.writes_status("typed")
async def test_fields_dropped_by_the_go_operators_types_are_restored(
    cluster: LocalCluster, client: KubeClient
) -> None:
    """Its types lack our fields. After a restart only the labels say which attempt it is."""
    body = appwrapper(
        "typed",
        job("typed", hang="running"),
        annotations=AT_ONCE,
    )
    async with followed(client, NAMESPACE, body) as life:
        ours = {"attempt": None, "timers": None}
        for attempt in (1, 2):
            version = await spoil(life, client, "typed", ours)
            if attempt == 2:
                await cluster.processes.restart("controller")
            label = "workload.codeflare.dev/appwrapper=typed"
            first, second = await listed(client, PODS, NAMESPACE, label)
            for each in (first, second):
                assert each["metadata"]["labels"]["workload.codeflare.dev/attempt"] == str(attempt)
            name = first["metadata"]["name"]
            failed = {"status": {"phase": "Failed"}}
            await client.patch(PODS, NAMESPACE, name, failed, PatchType.MERGE, subresource="status")
            await life.until(
                lambda item, version=version, attempt=attempt: (  # type: ignore[misc]
                    version_of(item) > version
                    and true_conditions(item) == RUNS
                    and (item["status"].get("attempt"), item["status"].get("resettingCount"))
                    == (attempt + 1, attempt)
                ),
                f"all pods of attempt {attempt + 1}",
            )
        assert "Failed" not in life.phases()
    await nothing_left(client, "typed")
