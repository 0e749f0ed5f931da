"""AppWrappers that today's webhook would have stored in another way, or not at all.

Each is admitted, evicted, requeued and deleted by the real Kueue and our controller, while users
type at it, and nothing is ever refused: neither as things are, nor where the webhook is asked
about Kueue's and the controller's own requests, too.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import PatchType
from tests.support.builders.appwrappers import (
    manifest,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job
from tests.support.cluster.another_team import another_team, member_of, team_documents
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import Life, listed
from tests.support.cluster.reconfigured import reconfigured
from tests.support.cluster.registrations import changed_registrations, unjudged
from tests.support.cluster.resources import WORKLOADS
from tests.support.cluster.settled import until_settled
from tests.support.cluster.tries import json_patch, merge
from tests.support.patience import KUBECTL_PATIENCE, comes_to

pytestmark = pytest.mark.kueue

TEAM = "stored-before"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
USER_NAME = "workload.codeflare.dev/user"
QUEUE = {QUEUE_NAME: "default-queue"}
USER = {USER_NAME: "alice", "workload.codeflare.dev/userid": ""}
OLD_TAINT = {"key": "old.example.com/health", "value": "BAD", "effect": "NoSchedule"}

Making = Callable[[LocalCluster, Kubectl], Awaitable[JsonObject]]


def team() -> list[JsonObject]:
    """With quota for one pod of a tenth of a CPU, and none to borrow."""
    documents = team_documents(TEAM)
    [queue] = [each["spec"] for each in documents if each["kind"] == "ClusterQueue"]
    del queue["cohortName"]
    for resource in queue["resourceGroups"][0]["flavors"][0]["resources"]:
        if resource["name"] == "cpu":
            resource["nominalQuota"] = "100m"
    return documents


def file(name: str, **metadata: Any) -> JsonObject:
    """What its user typed."""
    typed = job(name, pods=1, hang="running")
    return manifest(typed, name=name, namespace=TEAM, **metadata)


def pod_spec(stored: JsonObject) -> JsonObject:
    found: JsonObject = stored["spec"]["components"][0]["template"]["spec"]["template"]["spec"]
    return found


async def with_a_generated_name(_cluster: LocalCluster, kubectl: Kubectl) -> JsonObject:
    made = file("")
    del made["metadata"]["name"]
    made["metadata"]["generateName"] = "generated-"
    text = await kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(made))
    stored: JsonObject = json.loads(text)
    labels = stored["spec"]["components"][0]["template"]["spec"]["template"]["metadata"]
    assert "workload.codeflare.dev/appwrapper" not in labels.get("labels", {})
    return stored


async def under_another_configuration(cluster: LocalCluster, kubectl: Kubectl) -> JsonObject:
    taints = {"resourceTaints": {"cpu": [OLD_TAINT]}}
    other: dict[str, Any] = {"schedulerName": "default-scheduler", "autopilot": taints}
    async with reconfigured(cluster, **other):
        stored = await created(kubectl, file("reconfigured"))
    assert pod_spec(stored)["schedulerName"] == "default-scheduler"
    assert OLD_TAINT["key"] in json.dumps(pod_spec(stored)["affinity"])
    return stored


async def without_todays_injections(cluster: LocalCluster, kubectl: Kubectl) -> JsonObject:
    other: dict[str, Any] = {"schedulerName": "", "autopilot": {"injectAntiAffinities": False}}
    async with reconfigured(cluster, **other):
        stored = await created(kubectl, file("plain"))
    assert "schedulerName" not in pod_spec(stored)
    return stored


async def by_the_go_operator(cluster: LocalCluster, kubectl: Kubectl) -> JsonObject:
    """It labels the AppWrapper and injects at creation: the components stay as typed."""
    made = file("from-go", labels={**QUEUE, **USER})
    async with unjudged(cluster, TEAM):
        stored = await created(kubectl, made)
    assert stored["spec"]["components"] == made["spec"]["components"]
    return stored


async def with_a_refused_annotation(cluster: LocalCluster, kubectl: Kubectl) -> JsonObject:
    annotations = {"workload.codeflare.dev.appwrapper/retryLimit": "many"}
    made = file("misspelt", labels=QUEUE, annotations=annotations)
    refused = await kubectl.run("create", "-f", "-", stdin=json.dumps(made))
    assert "retryLimit" in refused.err
    async with unjudged(cluster, TEAM):
        return await created(kubectl, made)


async def created(kubectl: Kubectl, body: JsonObject) -> JsonObject:
    text = await kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(body))
    stored: JsonObject = json.loads(text)
    return stored


MAKINGS: tuple[Making, ...] = (
    with_a_generated_name,
    under_another_configuration,
    without_todays_injections,
    by_the_go_operator,
    with_a_refused_annotation,
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kubectl(cluster: LocalCluster) -> AsyncIterator[Kubectl]:
    async with another_team(cluster, TEAM, team()):
        yield Kubectl(cluster.kubectl, cluster.kubeconfig)


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="session",
    params=["users only", pytest.param("Kueue and the controller, too", marks=pytest.mark.long)],
)
async def asked_about(
    cluster: LocalCluster, kubectl: Kubectl, request: pytest.FixtureRequest
) -> AsyncIterator[None]:
    """About whose requests the API server asks the webhook."""
    if request.param == "users only":
        yield
        return

    def about_everybody(webhook: JsonObject) -> JsonObject:
        if "appwrapper" in webhook["name"]:
            webhook["matchConditions"] = []
        return webhook

    kueue = kubectl.impersonating(KUEUE)
    await created(kubectl, file("waits", labels={QUEUE_NAME: "nowhere"}))
    patch = ["-o", "json", *merge({"metadata": {"labels": {USER_NAME: None}}})]

    async def puts_back_what_kueue_drops() -> bool:
        on_it = ["appwrapper", "waits", "-n", TEAM, "--dry-run=server"]
        return USER_NAME in json.loads(await kueue("patch", *on_it, *patch))["metadata"]["labels"]

    async with changed_registrations(cluster.client, about_everybody):
        await comes_to(puts_back_what_kueue_drops, True)
        yield


class Watched:
    """One AppWrapper, from its creation on."""

    def __init__(self, cluster: LocalCluster, kubectl: Kubectl, life: Life, name: str) -> None:
        self.client = cluster.client
        self.kubectl = kubectl
        self.life = life
        self.name = name
        self.on_it = ("appwrapper", name, "-n", TEAM)

    async def stored(self) -> JsonObject:
        return await self.client.get(APPWRAPPERS, TEAM, self.name)

    async def pods(self) -> list[JsonObject]:
        return await listed(
            self.client, PODS, TEAM, f"workload.codeflare.dev/appwrapper={self.name}"
        )

    async def until_it_runs(self) -> JsonObject:
        async def runs() -> bool:
            now = await self.stored()
            return phase(now) == "Running" and "PodsReady" in true_conditions(now)

        await comes_to(runs, True)
        stored = await self.stored()
        assert "suspend" not in stored["spec"]
        assert stored["spec"]["components"][0]["podSetInfos"]
        return stored

    async def until_it_is_evicted(self, running: JsonObject) -> None:
        evicted = await self.life.until_phase("Suspended", after=version_of(running))
        assert evicted["spec"]["suspend"] is True
        assert "podSetInfos" not in evicted["spec"]["components"][0]
        assert true_conditions(evicted) == set()
        assert await self.pods() == []

    async def set_active(self, active: bool) -> None:
        """As an admin evicts a workload, and lets it queue again."""
        for workload in await listed(self.client, WORKLOADS, TEAM):
            owners = [owner["name"] for owner in workload["metadata"]["ownerReferences"]]
            if self.name in owners:
                name, body = workload["metadata"]["name"], {"spec": {"active": active}}
                await self.client.patch(WORKLOADS, TEAM, name, body, PatchType.MERGE)

    async def used(self) -> None:
        """What its user types while it runs: nothing of that is refused, nor changes what runs."""
        before = await self.stored()
        await self.kubectl("label", *self.on_it, "--overwrite", "seen=yes")
        await self.kubectl("annotate", *self.on_it, "--overwrite", "note=x")
        assert (await self.stored())["spec"] == before["spec"]


@pytest.mark.parametrize("making", MAKINGS, ids=lambda making: making.__name__)
async def test_it_lives_and_nothing_is_refused_nor_changed(
    cluster: LocalCluster, kubectl: Kubectl, asked_about: None, making: Making
) -> None:
    made = await making(cluster, kubectl)
    name = made["metadata"]["name"]
    async with Life(cluster.client, TEAM, name) as life:
        watched = Watched(cluster, kubectl, life, name)
        running = await watched.until_it_runs()
        assert (
            running["spec"]["components"][0]["template"]
            == (made["spec"]["components"][0]["template"])
        )
        await watched.used()
        await its_file_comes_again(watched, made)

        await watched.set_active(False)
        await watched.until_it_is_evicted(running)
        await its_file_comes_again(watched, made)
        await watched.set_active(True)
        requeued = await watched.until_it_runs()

        await kubectl("create", "-f", "-", stdin=json.dumps(urgent()))
        await watched.until_it_is_evicted(requeued)
        await kubectl("delete", "appwrapper", "urgent", "-n", TEAM)
        again = await watched.until_it_runs()
        assert again["spec"]["components"] == running["spec"]["components"]

        await kubectl("delete", *watched.on_it, KUBECTL_PATIENCE)
        await life.until_deleted()
        assert await watched.pods() == []
        await life.check_the_promise_to_kueue()
    log = cluster.processes["webhook"].log.read_text()
    assert [
        line for line in log.splitlines() if f'"{name}"' in line and "denied UPDATE" in line
    ] == []


def urgent() -> JsonObject:
    """As big as the quota, and of a higher priority."""
    made = file("urgent")
    template = made["spec"]["components"][0]["template"]["spec"]["template"]
    template["spec"]["priorityClassName"] = "high-priority"
    return made


async def its_file_comes_again(watched: Watched, made: JsonObject) -> None:
    """`kubectl replace` of what its user typed. A generated name stands in no file."""
    if "generateName" in made["metadata"]:
        return
    before = await until_settled(watched.stored)
    typed = file(watched.name, annotations=before["metadata"].get("annotations", {}))
    await watched.kubectl("replace", "-f", "-", stdin=json.dumps(typed))
    after = await watched.stored()
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


async def test_an_appwrapper_stored_with_more_components_can_be_changed_and_deleted(
    cluster: LocalCluster, kubectl: Kubectl
) -> None:
    """But gets no more of them. Its queue does not exist, so that nobody else changes it."""
    part = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "part"}}
    made = file("many", labels={QUEUE_NAME: "nowhere"})
    made["spec"]["components"] += [{"template": part}] * 119
    alice, on_it = member_of(cluster, TEAM), ("appwrapper", "many", "-n", TEAM)
    async with unjudged(cluster, TEAM):
        await created(kubectl, made)
    await alice("label", *on_it, "team=a")
    one_more = {"op": "add", "path": "/spec/components/-", "value": {"template": part}}
    refused = await alice.run("patch", *on_it, *json_patch(one_more))
    assert (refused.code, refused.err) == (
        1,
        'The AppWrapper "many" is invalid: spec.components: Too many: 121: must have at most 100 '
        "items: split it into several AppWrappers\n",
    )
    await alice("delete", *on_it)
