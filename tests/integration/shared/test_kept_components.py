"""Components that ask to be kept: through resets and suspensions, and to their end."""

import contextlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, PODS, SECRETS, JsonObject
from shared.kube.client import KubeClient, NotFound, PatchType, Propagation
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job
from tests.support.cluster.at_once import UnderWay, under_way
from tests.support.cluster.followed import events_about, followed
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.lives import Lives
from tests.support.cluster.resources import JOBS, SERVICES
from tests.support.cluster.workloads import set_active
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

KINDS = {"ConfigMap": CONFIGMAPS, "Secret": SECRETS, "Service": SERVICES}
KEEP = {"workload.codeflare.dev.appwrapper/keep": "true"}
RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
FAILS_ONCE = {"run_for": "300ms", "fail_attempts": "1"}


def wrapped(name: str, training: JsonObject, **annotations: str) -> JsonObject:
    """Three kept components, a ConfigMap that is not, and what has pods."""
    ports = {"ports": [{"port": 80}], "clusterIP": "None"}
    templates: list[JsonObject] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": f"{name}-"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-key"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": ports},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-not-kept"}},
        training,
    ]
    body = appwrapper(name, *templates, annotations=annotations)
    for component in body["spec"]["components"][:3]:
        component["annotations"] = KEEP
    return body


async def uids(client: KubeClient, item: JsonObject) -> list[str]:
    """Of the objects of the first four components; empty where there is none."""
    found = []
    for recorded in item["status"]["componentStatus"][:4]:
        try:
            made = await client.get(KINDS[recorded["kind"]], NAMESPACE, recorded["name"])
        except NotFound:
            found.append("")
        else:
            found.append(made["metadata"]["uid"])
    return found


async def until_it_runs(life: Life, attempt: int) -> JsonObject:
    return await life.until(
        lambda item: true_conditions(item) >= RUNS and item["status"].get("attempt") == attempt,
        f"all pods of attempt {attempt}",
    )


async def fail_its_pods(client: KubeClient, name: str) -> None:
    """When the test has looked, and not when a time is over.

    The controller does not wait for the second one: it may delete that meanwhile.
    """
    label = f"workload.codeflare.dev/appwrapper={name}"
    for each in await listed(client, PODS, NAMESPACE, label):
        pod, body = each["metadata"]["name"], {"status": {"phase": "Failed"}}
        with contextlib.suppress(NotFound):
            await client.patch(PODS, NAMESPACE, pod, body, PatchType.MERGE, subresource="status")


async def goes_and_keeps_the_promise(client: KubeClient, life: Life, name: str) -> None:
    """Deleted while its watches go on: that of its pods may be the later one."""
    await client.delete(APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND)
    await life.until_deleted()
    await life.check_the_promise_to_kueue()


async def nothing_left(client: KubeClient, name: str) -> None:
    label = f"workload.codeflare.dev/appwrapper={name}"
    for resource in (*KINDS.values(), JOBS, PODS):
        assert await listed(client, resource, NAMESPACE, label) == []


async def they_survive_a_suspension_and_go_with_the_appwrapper(lives: Lives) -> None:
    client = lives.client
    body = wrapped("kept-evicted", job("kept-evicted", hang="running"))
    async with followed(client, NAMESPACE, body) as life:
        first = await until_it_runs(life, 1)
        before = await uids(client, first)
        await set_active(client, first["metadata"]["uid"], False)
        away = await life.until_phase("Suspended", after=version_of(first))
        assert true_conditions(away) == set()
        assert await uids(client, away) == [*before[:3], ""]
        deployed = [each["conditions"][0]["status"] for each in away["status"]["componentStatus"]]
        assert deployed == ["True", "True", "True", "False", "False"]

        await set_active(client, first["metadata"]["uid"], True)
        again = await until_it_runs(life, 2)
        after = await uids(client, again)
        assert after[:3] == before[:3]
        assert after[3] not in ("", before[3])
        names = [
            [each["name"] for each in item["status"]["componentStatus"]] for item in (first, again)
        ]
        assert names[0] == names[1]
        await goes_and_keeps_the_promise(client, life, "kept-evicted")
    await nothing_left(client, "kept-evicted")


async def they_survive_a_reset_and_go_when_all_retries_are_spent(lives: Lives) -> None:
    client = lives.client
    training = job("kept-reset", hang="running")
    body = wrapped("kept-reset", training, retryLimit="1", **AT_ONCE)
    async with followed(client, NAMESPACE, body) as life:
        first = await until_it_runs(life, 1)
        before = await uids(client, first)
        await fail_its_pods(client, "kept-reset")
        paused = await life.until(
            lambda item: (
                phase(item) == "Resetting" and "ResourcesDeployed" not in true_conditions(item)
            ),
            "a reset with nothing deployed",
        )
        second = await until_it_runs(life, 2)
        assert version_of(second) > version_of(paused)
        after = await uids(client, second)
        assert after[:3] == before[:3]
        assert after[3] not in ("", before[3])
        await fail_its_pods(client, "kept-reset")
        failed = await life.until_phase("Failed")
        await life.until(
            lambda item: (
                version_of(item) > version_of(failed) and true_conditions(item) == {"Unhealthy"}
            ),
            "its end",
        )
        assert await uids(client, failed) == ["", "", "", ""]
        await goes_and_keeps_the_promise(client, life, "kept-reset")


async def they_go_with_an_appwrapper_that_is_deleted_while_it_is_suspended(lives: Lives) -> None:
    client = lives.client
    body = wrapped("kept-away", job("kept-away", hang="running"))
    async with followed(client, NAMESPACE, body) as life:
        first = await until_it_runs(life, 1)
        await set_active(client, first["metadata"]["uid"], False)
        away = await life.until_phase("Suspended", after=version_of(first))
        assert "" not in (await uids(client, away))[:3]
    await nothing_left(client, "kept-away")


async def they_go_at_the_success_ttl(lives: Lives) -> None:
    client = lives.client
    body = wrapped("kept-ttl", job("kept-ttl", run_for="300ms"), successTTLDuration="1s")
    async with followed(client, NAMESPACE, body) as life:
        ended = await life.until_phase("Succeeded")
        await life.until(
            lambda item: (
                version_of(item) > version_of(ended)
                and "ResourcesDeployed" not in true_conditions(item)
            ),
            "the end of the TTL",
        )
        assert await uids(client, ended) == ["", "", "", ""]


async def one_that_went_during_a_suspension_is_created_anew(lives: Lives) -> None:
    client = lives.client
    body = wrapped("kept-lost", job("kept-lost", hang="running"))
    async with followed(client, NAMESPACE, body) as life:
        first = await until_it_runs(life, 1)
        before = await uids(client, first)
        uid = first["metadata"]["uid"]
        await set_active(client, uid, False)
        await life.until_phase("Suspended", after=version_of(first))
        for resource, name in ((SECRETS, "kept-lost-key"), (SERVICES, "kept-lost")):
            await client.delete(
                resource, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
            )
        await set_active(client, uid, True)
        after = await uids(client, await until_it_runs(life, 2))
        assert after[0] == before[0]
        assert not {*after[1:3]} & {"", *before}
    assert "Failed" not in life.phases()
    await nothing_left(client, "kept-lost")


async def one_that_somebody_deletes_while_it_runs_fails_it(lives: Lives) -> None:
    client = lives.client
    body = wrapped("kept-stolen", job("kept-stolen", hang="running"))
    async with followed(client, NAMESPACE, body) as life:
        await until_it_runs(life, 1)
        await client.delete(
            SERVICES, NAMESPACE, "kept-stolen", uid=None, propagation=Propagation.BACKGROUND
        )
        failed = await life.until_phase("Failed")
        (unhealthy,) = [c for c in failed["status"]["conditions"] if c["type"] == "Unhealthy"]
        assert unhealthy["message"] == "deleted by another client: Service kept-stolen"
    await nothing_left(client, "kept-stolen")


async def replace_secret(client: KubeClient, name: str) -> None:
    made = await client.get(SECRETS, NAMESPACE, name)
    await client.delete(SECRETS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND)
    made["metadata"] = {key: made["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    await client.create(SECRETS, NAMESPACE, made)


async def one_that_somebody_puts_in_the_place_of_another_fails_it(lives: Lives) -> None:
    """`kubectl replace --force` keeps owner and labels; the UID tells."""
    client = lives.client
    body = wrapped("kept-replaced", job("kept-replaced", hang="running"))
    async with followed(client, NAMESPACE, body) as life:
        await until_it_runs(life, 1)
        # Perhaps before the controller has looked at it: it knows what it created.
        await replace_secret(client, "kept-replaced-key")
        failed = await life.until_phase("Failed")
        (unhealthy,) = [c for c in failed["status"]["conditions"] if c["type"] == "Unhealthy"]
        assert unhealthy["message"] == "deleted by another client: Secret kept-replaced-key"

    async def is_there() -> bool:
        return await exists(client, SECRETS, NAMESPACE, "kept-replaced-key")

    await comes_to(is_there, False)  # the garbage collector takes it

    async def warnings() -> list[tuple[str, str, str]]:
        events = await events_about(client, NAMESPACE, "kept-replaced")
        return [each for each in events if each[1] == "MissingComponent"]

    message = "failed: deleted by another client: Secret kept-replaced-key"
    await comes_to(warnings, [("Warning", "MissingComponent", message)])


CASES = (
    they_survive_a_suspension_and_go_with_the_appwrapper,
    they_survive_a_reset_and_go_when_all_retries_are_spent,
    they_go_with_an_appwrapper_that_is_deleted_while_it_is_suspended,
    they_go_at_the_success_ttl,
    one_that_went_during_a_suspension_is_created_anew,
    one_that_somebody_deletes_while_it_runs_fails_it,
    one_that_somebody_puts_in_the_place_of_another_fails_it,
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def started(cluster: RunningCluster, lives_team: None) -> AsyncIterator[UnderWay]:
    """A Secret that goes is missed within half a minute only: the others wait beside that."""
    async with under_way(cluster, *CASES) as cases:
        yield cases


# One of them makes a component anew by hand, at whatever time.
pytestmark = pytest.mark.writes_status("kept-replaced")


async def test_they_survive_a_suspension_and_go_with_the_appwrapper(started: UnderWay) -> None:
    await started["they_survive_a_suspension_and_go_with_the_appwrapper"]


async def test_they_survive_a_reset_and_go_when_all_retries_are_spent(started: UnderWay) -> None:
    await started["they_survive_a_reset_and_go_when_all_retries_are_spent"]


async def test_they_go_with_an_appwrapper_that_is_deleted_while_it_is_suspended(
    started: UnderWay,
) -> None:
    await started["they_go_with_an_appwrapper_that_is_deleted_while_it_is_suspended"]


async def test_they_go_at_the_success_ttl(started: UnderWay) -> None:
    await started["they_go_at_the_success_ttl"]


async def test_a_kept_component_deleted_during_a_suspension_is_created_again(
    started: UnderWay,
) -> None:
    await started["one_that_went_during_a_suspension_is_created_anew"]


async def test_a_kept_component_deleted_while_it_runs_fails_the_appwrapper(
    started: UnderWay,
) -> None:
    await started["one_that_somebody_deletes_while_it_runs_fails_it"]


async def test_a_kept_component_replaced_by_another_client_fails_the_appwrapper(
    started: UnderWay,
) -> None:
    await started["one_that_somebody_puts_in_the_place_of_another_fails_it"]
