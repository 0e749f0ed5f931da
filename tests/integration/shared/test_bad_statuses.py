"""Statuses that somebody else wrote, as bad as the schema lets pass.

Whatever stands there: nothing crashes, no write follows write without end, and the AppWrapper comes
to a clear state and can be deleted with all that it deployed.
"""

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import Invalid, KubeClient, PatchType
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.cluster.followed import followed, reported, until_reported
from tests.support.cluster.hot_loops import nothing_is_written
from tests.support.cluster.lives import NAMESPACE as LIVES
from tests.support.cluster.lives import Lives
from tests.support.cluster.resources import JOBS
from tests.support.cluster.spoilt_statuses import (
    ENTRY,
    RUNS,
    all_spoilt,
    named,
    nothing_left,
    odd,
    spoil,
    timer,
)
from tests.support.team import NAMESPACE


@pytest.fixture
def client(cluster: RunningCluster) -> KubeClient:
    return cluster.client


BEGINS_ANEW: dict[str, JsonObject] = {
    "a phase nobody knows": {"phase": "Foo"},
    "no phase": {"phase": None},
    "a phase it was in before": {"phase": "Suspended"},
    "a reset that never was": {"phase": "Resetting"},
}
ANEW = named("anew", BEGINS_ANEW)


@pytest.mark.writes_status(*ANEW.values())
async def test_a_running_appwrapper_restarts(client: KubeClient) -> None:
    async with all_spoilt(client, ANEW, BEGINS_ANEW, retryPausePeriodDuration="0s") as spoilt:
        for status, (life, version) in spoilt.items():
            name = ANEW[status]
            again = await life.until(
                lambda item, version=version: (  # type: ignore[misc]
                    version_of(item) > version
                    and true_conditions(item) == RUNS
                    and phase(item) == "Running"
                    and item["status"]["attempt"] == 2
                ),
                f"all pods of a second attempt after {status}",
            )
            labels = (await client.get(JOBS, NAMESPACE, name))["metadata"]["labels"]
            assert labels["workload.codeflare.dev/attempt"] == "2", status
            assert again["status"]["componentStatus"][0]["name"] == name
        await nothing_is_written(*(life for life, _ in spoilt.values()))


ATTEMPTS: dict[int, JsonObject] = {number: {"attempt": number} for number in (0, -3, 7, 2**31 - 1)}
FAIL = named("attempt", ATTEMPTS)


@pytest.mark.writes_status(*FAIL.values())
async def test_without_objects_of_another_attempt_it_fails(client: KubeClient) -> None:
    async with all_spoilt(client, FAIL, ATTEMPTS) as spoilt:
        for attempt, (life, version) in spoilt.items():
            failed = await life.until_phase("Failed", after=version)
            message = f"deleted by another client: Job {FAIL[attempt]}"
            assert reported(failed, "Unhealthy") == ("True", "MissingComponent", message), attempt
            await life.until(
                lambda item, version=version: (  # type: ignore[misc]
                    version_of(item) > version and true_conditions(item) == {"Unhealthy"}
                ),
                f"the end of attempt {attempt}",
            )
        await nothing_is_written(*(life for life, _ in spoilt.values()))


@pytest.mark.writes_status("spoilt")
async def test_with_its_whole_status_gone_it_is_deployed_as_it_is(client: KubeClient) -> None:
    """Attempts are counted anew, so what is there has the right number."""
    body = appwrapper("spoilt", job("spoilt", hang="running"))
    async with followed(client, NAMESPACE, body) as life:
        first = await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
        made = await client.get(JOBS, NAMESPACE, "spoilt")
        gone = dict.fromkeys(first["status"])
        version = await spoil(life, client, "spoilt", gone)
        await life.until(
            lambda item: version_of(item) > version and true_conditions(item) == RUNS,
            "all pods ready again",
        )
        await nothing_is_written(life)
        again = await client.get(JOBS, NAMESPACE, "spoilt")
        assert again["metadata"]["uid"] == made["metadata"]["uid"]
    await nothing_left(client, "spoilt")


REFUSED: list[JsonObject] = [
    {"phase": 1},
    {"timers": {"warmup": "2026-01-01T00:00:00Z"}},
    {"timers": {"warmup": timer(began="soon")}},
    {"conditions": [{"type": "Foo"}]},
    {"conditions": [odd("Foo", status="Yes")]},
    {"conditions": [odd("Foo", time="then")]},
    {"componentStatus": [{"name": "a"}]},
    {"componentStatus": [ENTRY | {"podSets": [{"path": "template", "replicas": "2"}]}]},
    {"attempt": "1"},
    {"resettingCount": 1.5},
]


async def test_statuses_that_the_schema_refuses_are_never_stored(client: KubeClient) -> None:
    name = "refused-status"
    body = appwrapper(name, job(name))
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "nowhere"}
    async with followed(client, NAMESPACE, body) as life:
        before = await until_reported(life, "QuotaReserved", "QueueUnusable")
        for refused in REFUSED:
            change = {"status": refused}
            with pytest.raises(Invalid):
                await client.patch(
                    APPWRAPPERS, NAMESPACE, name, change, PatchType.MERGE, subresource="status"
                )
        assert (await client.get(APPWRAPPERS, NAMESPACE, name))["status"] == before["status"]


@pytest.mark.writes_status("typed-waits")
async def test_fields_dropped_from_an_evicted_appwrapper(lives: Lives) -> None:
    """Its attempts are counted on, so what was deleted is not taken for the next attempt's."""
    life = await lives.begin(appwrapper("typed-waits", job("typed-waits", hang="running")))
    ran = await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
    await lives.set_active(life, active=False)
    evicted = await life.until_phase("Suspended", after=version_of(ran))
    body = {"status": {"attempt": None, "timers": None}}
    await lives.client.patch(
        APPWRAPPERS, LIVES, "typed-waits", body, PatchType.MERGE, subresource="status"
    )
    await lives.set_active(life, active=True)
    again = await life.until(
        lambda item: version_of(item) > version_of(evicted) and true_conditions(item) == RUNS,
        "all pods ready again",
    )
    assert again["status"]["attempt"] == 2
