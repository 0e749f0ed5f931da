"""Statuses that somebody else wrote, as bad as the schema lets pass.

Whatever stands there: nothing crashes, no pass follows pass without end, the AppWrapper comes to a
clear state and can be deleted with all that it deployed, and an AppWrapper beside it goes on.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from localcluster.cluster import LocalCluster
from shared.api.json import JsonObject
from shared.kube.client import KubeClient, PatchType
from shared.kube.errors import Invalid
from shared.kube.resource import APPWRAPPERS, PODS
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job
from tests.support.cluster.followed import followed, said
from tests.support.cluster.hot_loops import nothing_is_hot
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE as LIVES
from tests.support.cluster.lives import Lives
from tests.support.cluster.resources import JOBS
from tests.support.observer.controller_words import ControllerWords
from tests.support.team import NAMESPACE

RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
LATE = "9999-12-31T23:59:59Z"
EARLY = "0001-01-01T00:00:00+01:00"
# With the right pod sets: Kueue reads these, too, and stops what does not fit its Workload.
POD_SETS = [{"path": "template.spec.template", "replicas": 2}]
ENTRY = {"name": "x", "kind": "Job", "apiVersion": "batch/v1", "podSets": POD_SETS}


@pytest.fixture
def client(cluster: LocalCluster) -> KubeClient:
    return cluster.client


def odd(kind: str, status: str = "Unknown", time: str = LATE) -> JsonObject:
    return {
        "type": kind,
        "status": status,
        "reason": "Odd",
        "message": "\u0001",
        "lastTransitionTime": time,
    }


def timer(**fields: Any) -> JsonObject:
    return {"began": EARLY, "phase": "Running", "attempt": 1, "resettingCount": 0, **fields}


async def spoil(life: Life, client: KubeClient, name: str, status: JsonObject) -> int:
    """Writes the status of one that runs, as a merge patch; the version after that."""
    await life.until(lambda item: true_conditions(item) == RUNS, f"all pods of {name} ready")
    body = {"status": status}
    written = await client.patch(
        APPWRAPPERS, NAMESPACE, name, body, PatchType.MERGE, subresource="status"
    )
    return version_of(written)


@asynccontextmanager
async def all_spoilt(
    client: KubeClient, statuses: Mapping[Any, JsonObject], **annotations: str
) -> AsyncGenerator[dict[Any, tuple[Life, int]], None]:
    """One AppWrapper for each, all at once: its life, and the version after it was spoilt."""
    names = {key: NAMES[key] for key in statuses}
    async with AsyncExitStack() as stack:
        lives = {}
        for key, name in names.items():
            body = appwrapper(name, job(name, hang="running"), annotations=annotations)
            lives[key] = await stack.enter_async_context(followed(client, NAMESPACE, body))
        yield {
            key: (life, await spoil(life, client, names[key], statuses[key]))
            for key, life in lives.items()
        }
    for name in names.values():
        await nothing_left(client, name)


async def one_beside_it_completes(client: KubeClient) -> None:
    async with followed(
        client, NAMESPACE, appwrapper("beside", job("beside", pods=1, run_for="100ms"))
    ) as life:
        await life.until_phase("Succeeded")


async def nothing_left(client: KubeClient, name: str) -> None:
    label = f"workload.codeflare.dev/appwrapper={name}"
    assert await listed(client, JOBS, NAMESPACE, label) == []
    assert await listed(client, PODS, NAMESPACE, label) == []


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


BEGINS_ANEW: dict[str, JsonObject] = {
    "a phase nobody knows": {"phase": "Foo"},
    "no phase": {"phase": None},
    "a phase it was in before": {"phase": "Suspended"},
    "a reset that never was": {"phase": "Resetting"},
}
ATTEMPTS = (0, -3, 7, 2**31 - 1)
SPOILT: list[str | int] = [*GOES_ON, *BEGINS_ANEW, *ATTEMPTS]
# Kueue 0.16 tells AppWrappers by their names, and may take one for another of a moment ago.
NAMES: dict[str | int, str] = {status: f"spoilt-{n}" for n, status in enumerate(SPOILT)}


@pytest.mark.writes_status(*NAMES.values())
async def test_what_runs_goes_on(client: KubeClient, controller_words: ControllerWords) -> None:
    async with all_spoilt(client, GOES_ON) as spoilt:
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


@pytest.mark.writes_status(*NAMES.values())
async def test_what_runs_begins_anew(client: KubeClient, controller_words: ControllerWords) -> None:
    async with all_spoilt(client, BEGINS_ANEW, retryPausePeriodDuration="0s") as spoilt:
        for status, (life, version) in spoilt.items():
            name = NAMES[status]
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
        await nothing_is_hot(controller_words)


@pytest.mark.writes_status(*NAMES.values())
async def test_of_another_attempt_there_is_nothing_so_it_fails(
    client: KubeClient, controller_words: ControllerWords
) -> None:
    statuses = {attempt: {"attempt": attempt} for attempt in ATTEMPTS}
    async with all_spoilt(client, statuses) as spoilt:
        for attempt, (life, version) in spoilt.items():
            failed = await life.until_phase("Failed", after=version)
            message = f"deleted by somebody else: Job {NAMES[attempt]}"
            assert said(failed, "Unhealthy") == ("True", "MissingComponent", message), attempt
            await life.until(
                lambda item, version=version: (  # type: ignore[misc]
                    version_of(item) > version and true_conditions(item) == {"Unhealthy"}
                ),
                f"the end of attempt {attempt}",
            )
        await nothing_is_hot(controller_words)


@pytest.mark.writes_status("spoilt")
async def test_with_its_whole_status_gone_it_is_deployed_as_it_is(
    client: KubeClient, controller_words: ControllerWords
) -> None:
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
        await nothing_is_hot(controller_words)
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


async def test_what_the_schema_refuses_never_gets_there(client: KubeClient) -> None:
    name = "refused-status"
    body = appwrapper(name, job(name))
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "nowhere"}
    async with followed(client, NAMESPACE, body) as life:
        before = await life.until_phase("Suspended")
        for refused in REFUSED:
            change = {"status": refused}
            with pytest.raises(Invalid):
                await client.patch(
                    APPWRAPPERS, NAMESPACE, name, change, PatchType.MERGE, subresource="status"
                )
        assert (await client.get(APPWRAPPERS, NAMESPACE, name))["status"] == before["status"]


@pytest.mark.writes_status("typed")
async def test_what_a_program_with_the_go_operators_types_drops_is_found_again(
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


@pytest.mark.writes_status("typed-waits")
async def test_what_such_a_program_drops_of_one_that_was_evicted(lives: Lives) -> None:
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
