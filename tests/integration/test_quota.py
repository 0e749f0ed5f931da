"""Nobody runs without quota: what a researcher may try, in a team whose queue admits nothing.

All through the real API server and Kueue, with the rights that deploy/team gives. Whatever is
tried, no pod is ever created. Kueue's identity and an admin may do what a researcher may not.
"""

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.json import JsonObject
from shared.kube.client import KubeClient, Propagation, WatchEventType
from shared.kube.errors import NotFound
from shared.kube.resource import APPWRAPPERS, PODS
from tests.appwrapper_life import appwrapper, exists, phase, pod_template
from tests.integration.another_team import (
    another_team,
    member_of,
    team_documents,
    without_quota,
)
from tests.integration.test_samples import comes_to
from tests.kubectl import Completed, Kubectl

TEAM = "tries"
QUEUE = "kueue.x-k8s.io/queue-name"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
OPEN = "open"  # a second queue of the team, which has quota
# Those of a running AppWrapper and of the barrier; they have quota.
MAY_HAVE_PODS = {"running", "barrier"}
INFOS = [{"labels": {"kueue.x-k8s.io/podset": "tried-0"}}]
STARTED_BY_KUEUE = (
    "spec.suspend is put back to true: only Kueue starts a queued AppWrapper, "
    "or an admin who writes suspend: false"
)
WRITTEN_BY_KUEUE = (
    "spec.components[0].podSetInfos is put back: only Kueue starts a queued AppWrapper "
    "and writes this"
)


def open_queue() -> list[JsonObject]:
    """A ClusterQueue of one CPU, and the team's LocalQueue to it."""
    version = "kueue.x-k8s.io/v1beta2"
    cpu = {"name": "default-flavor", "resources": [{"name": "cpu", "nominalQuota": 1}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [cpu]}]
    return [
        {
            "apiVersion": version,
            "kind": "ClusterQueue",
            "metadata": {"name": "tries-open"},
            "spec": {"namespaceSelector": {}, "resourceGroups": groups},
        },
        {
            "apiVersion": version,
            "kind": "LocalQueue",
            "metadata": {"name": OPEN, "namespace": TEAM},
            "spec": {"clusterQueue": "tries-open"},
        },
    ]


def pytorch_job(name: str, **simulation: str) -> JsonObject:
    """One master. What a team's role lets its users create, so they may wrap it."""
    template = pod_template(**simulation)
    template["spec"]["containers"][0]["name"] = "pytorch"
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}},
    }


def manifest(name: str = "tried", queue: str | None = None, **spec: Any) -> JsonObject:
    """It would run until it is deleted; without a queue of its own it gets the team's."""
    made = appwrapper(name, pytorch_job(name, hang="running"), queued=False)
    made["metadata"] |= {"namespace": TEAM, "labels": {} if queue is None else {QUEUE: queue}}
    made["spec"] |= spec
    return made


def with_infos(body: JsonObject, infos: object = INFOS) -> JsonObject:
    """`body` as Kueue would write it."""
    new = copy.deepcopy(body)
    new["spec"]["components"][0]["podSetInfos"] = infos
    return new


class PodsOfTheTeam:
    """Every pod that was ever created there, by its AppWrapper's label or its name."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.created: list[str] = []

    async def watch(self, version: str) -> None:
        stream = self._client.watch(PODS, TEAM, resource_version=version)
        async with aclosing(stream):
            async for event in stream:
                if event.type is WatchEventType.ADDED:
                    metadata = event.object["metadata"]
                    label = metadata.get("labels", {}).get("workload.codeflare.dev/appwrapper")
                    self.created.append(label or metadata["name"])

    def since_last_time(self) -> list[str]:
        """A test that fails leaves nothing for the next one to fail of."""
        created, self.created = self.created, []
        return created


@dataclass(frozen=True)
class Team:
    """What the tests look at and who types."""

    client: KubeClient
    researcher: Kubectl
    admin: Kubectl
    kueue: Kubectl
    pods: PodsOfTheTeam

    async def stored(self, name: str = "tried") -> JsonObject:
        return await self.client.get(APPWRAPPERS, TEAM, name)

    async def delete(self, name: str) -> None:
        try:
            await self.client.delete(
                APPWRAPPERS, TEAM, name, uid=None, propagation=Propagation.BACKGROUND
            )
        except NotFound:
            return
        await comes_to(lambda: exists(self.client, APPWRAPPERS, TEAM, name), False)

    async def submit(self, body: JsonObject) -> JsonObject:
        """Created by the researcher; returns when the controller has seen it."""
        await self.researcher("create", "-f", "-", stdin=json.dumps(body))
        name = body["metadata"]["name"]

        async def looked_at() -> bool:
            return bool(phase(await self.stored(name)))

        await comes_to(looked_at, True)
        return await self.stored(name)

    async def barrier(self) -> None:
        """An AppWrapper with quota goes from its creation to its end.

        So Kueue, our controller and the Training Operator have all acted on what came after
        whatever was tried before.
        """
        body = manifest("barrier", OPEN)
        body["spec"]["components"] = [{"template": pytorch_job("barrier", run_for="100ms")}]
        await self.submit(body)

        async def ended() -> str:
            return phase(await self.stored("barrier"))

        await comes_to(ended, "Succeeded")
        await self.delete("barrier")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def team(cluster: LocalCluster) -> AsyncIterator[Team]:
    documents = [without_quota(each) for each in team_documents(TEAM)] + open_queue()
    async with another_team(cluster, TEAM, documents):
        pods = PodsOfTheTeam(cluster.client)
        version = ""
        async with aclosing(cluster.client.list_pages(PODS, TEAM)) as pages:
            async for page in pages:
                version = page.resource_version
        watching = asyncio.create_task(pods.watch(version))
        admin = Kubectl(cluster.kubectl, cluster.kubeconfig)
        alice = member_of(cluster, TEAM)
        try:
            yield Team(cluster.client, alice, admin, admin.impersonating(KUEUE), pods)
        finally:
            watching.cancel()


@pytest_asyncio.fixture(loop_scope="session")
async def queued(team: Team) -> AsyncIterator[JsonObject]:
    """An AppWrapper of the researcher's that waits for quota in vain."""
    try:
        yield await team.submit(manifest())
    finally:
        await team.delete("tried")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(team: Team) -> AsyncIterator[JsonObject]:
    """Another one, which has quota and runs."""
    try:
        await team.submit(manifest("running", OPEN))

        async def runs() -> str:
            return phase(await team.stored("running"))

        await comes_to(runs, "Running")
        yield await team.stored("running")
    finally:
        await team.delete("running")


async def no_pod(team: Team) -> None:
    await team.barrier()
    created = team.pods.since_last_time()
    assert "barrier" in created  # the watch sees pods
    assert [owner for owner in created if owner not in MAY_HAVE_PODS] == []


def merge(patch: JsonObject) -> list[str]:
    return ["--type=merge", "-p", json.dumps(patch)]


def json_patch(*operations: JsonObject) -> list[str]:
    return ["--type=json", "-p", json.dumps(operations)]


def warned(*warnings: str) -> str:
    return "".join(f"Warning: {text}\n" for text in warnings)


FORGED = with_infos(manifest())["spec"]["components"]
UNSUSPENDED = {"spec": {"suspend": False}}
PATCHES = [
    pytest.param(merge(UNSUSPENDED), [STARTED_BY_KUEUE], id="suspend false"),
    pytest.param(merge({"spec": {"suspend": None}}), [STARTED_BY_KUEUE], id="suspend null"),
    pytest.param(
        json_patch({"op": "remove", "path": "/spec/suspend"}), [STARTED_BY_KUEUE], id="no suspend"
    ),
    pytest.param(
        merge({"spec": {"components": FORGED}}), [WRITTEN_BY_KUEUE], id="forged podSetInfos"
    ),
    pytest.param(
        merge({"spec": {"suspend": None, "components": FORGED}}),
        [STARTED_BY_KUEUE, WRITTEN_BY_KUEUE],
        id="exactly as Kueue does it",
    ),
    pytest.param(
        json_patch(
            {"op": "add", "path": "/spec/components/0/podSetInfos", "value": [{}]},
            {"op": "replace", "path": "/spec/suspend", "value": False},
        ),
        [STARTED_BY_KUEUE, WRITTEN_BY_KUEUE],
        id="the same as a JSON patch",
    ),
    pytest.param(
        merge({"metadata": {"labels": {QUEUE: None}}, **UNSUSPENDED}),
        [STARTED_BY_KUEUE],
        id="out of the queue and unsuspended",
    ),
    pytest.param(merge({"metadata": {"labels": {QUEUE: None}}}), [], id="out of the queue"),
    pytest.param(merge({"metadata": {"labels": {QUEUE: ""}}}), [], id="the queue emptied"),
    pytest.param(merge({"metadata": {"labels": None}}), [], id="no labels at all"),
]


@pytest.mark.parametrize(("patch", "warnings"), PATCHES)
async def test_a_patch_starts_nothing(
    team: Team, queued: JsonObject, patch: list[str], warnings: list[str]
) -> None:
    done = await team.researcher.run("patch", "appwrapper", "tried", "-n", TEAM, *patch)
    assert (done.code, done.err) == (0, warned(*warnings))
    now = await team.stored()
    assert (now["spec"], now["metadata"]["labels"]) == (
        queued["spec"],
        queued["metadata"]["labels"],
    )
    await no_pod(team)


FILES = [
    pytest.param(manifest(), id="the file it was made of"),
    pytest.param(manifest(suspend=False), id="suspend false"),
    pytest.param(with_infos(manifest(suspend=False)), id="forged podSetInfos"),
]


@pytest.mark.parametrize("file", FILES)
async def test_replacing_starts_nothing(team: Team, queued: JsonObject, file: JsonObject) -> None:
    done = await team.researcher.run("replace", "-f", "-", stdin=json.dumps(file))
    forged = "podSetInfos" in file["spec"]["components"][0]
    warnings = [STARTED_BY_KUEUE, WRITTEN_BY_KUEUE] if forged else [STARTED_BY_KUEUE]
    assert (done.code, done.err) == (0, warned(*warnings))
    now = await team.stored()
    assert now["spec"] == queued["spec"]
    assert now["metadata"]["generation"] == queued["metadata"]["generation"]
    assert now["metadata"]["labels"] == queued["metadata"]["labels"]
    await no_pod(team)


@pytest.mark.parametrize("how", [["apply"], ["apply", "--server-side", "--force-conflicts"]])
@pytest.mark.parametrize("file", FILES)
async def test_applying_starts_nothing(
    team: Team, queued: JsonObject, file: JsonObject, how: list[str]
) -> None:
    done = await team.researcher.run(*how, "-f", "-", stdin=json.dumps(file))
    assert done.code == 0
    now = await team.stored()
    assert now["spec"] == queued["spec"]
    assert now["metadata"]["labels"] == queued["metadata"]["labels"]
    await no_pod(team)


@pytest.mark.parametrize("queue", ["no-such-queue", "default-queue"])
async def test_another_queue_starts_nothing(team: Team, queued: JsonObject, queue: str) -> None:
    patch = merge({"metadata": {"labels": {QUEUE: queue}}, **UNSUSPENDED})
    await team.researcher("patch", "appwrapper", "tried", "-n", TEAM, *patch)
    assert (await team.stored())["spec"] == queued["spec"]
    await no_pod(team)


async def test_the_status_is_not_the_researchers(team: Team, queued: JsonObject) -> None:
    path = f"/apis/workload.codeflare.dev/v1beta2/namespaces/{TEAM}/appwrappers/tried/status"
    forged = json.dumps({**queued, "status": {"phase": "Resuming"}})
    done = await team.researcher.run("replace", "--raw", path, "-f", "-", stdin=forged)
    assert (done.code, done.err) == (
        1,
        'Error from server (Forbidden): appwrappers.workload.codeflare.dev "tried" is forbidden: '
        'User "alice" cannot update resource "appwrappers/status" in API group '
        f'"workload.codeflare.dev" in the namespace "{TEAM}"\n',
    )
    await no_pod(team)


async def test_a_workload_is_not_the_researchers(team: Team, queued: JsonObject) -> None:
    done = await team.researcher.run(
        "create", "-f", "-", stdin=json.dumps({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "forged", "namespace": TEAM},
        }),
    )  # fmt: skip
    assert done.code == 1
    assert 'User "alice" cannot create resource "workloads"' in done.err


async def test_what_waits_for_its_deletion_is_not_judged_and_never_starts(team: Team) -> None:
    body = manifest()
    body["metadata"]["finalizers"] = ["example.com/mine"]
    await team.submit(body)
    on_it = ["appwrapper", "tried", "-n", TEAM]
    await team.researcher("delete", *on_it, "--wait=false")
    try:
        start = merge({"spec": {"suspend": None, "components": FORGED}})
        done = await team.researcher.run("patch", *on_it, *start)
        assert (done.code, done.err) == (0, "")
        assert "suspend" not in (await team.stored())["spec"]
        await no_pod(team)
    finally:
        await team.researcher("patch", *on_it, *merge({"metadata": {"finalizers": None}}))
        await team.delete("tried")


def owned_by(owner: JsonObject, body: JsonObject) -> JsonObject:
    """`body` under the control of an AppWrapper that Kueue has admitted."""
    new = copy.deepcopy(body)
    new["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "workload.codeflare.dev/v1beta2",
            "kind": "AppWrapper",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
    ]
    return new


async def test_a_new_one_under_a_running_controller_never_starts(
    team: Team, running: JsonObject
) -> None:
    """Kueue takes it for a part of the other, and does not suspend it."""
    try:
        made = await team.submit(owned_by(running, manifest()))
        assert "suspend" not in made["spec"]
        await no_pod(team)
        assert phase(await team.stored()) == "Suspended"
    finally:
        await team.delete("tried")


async def test_no_queued_one_gets_a_running_controller(
    team: Team, queued: JsonObject, running: JsonObject
) -> None:
    owners = owned_by(running, manifest())["metadata"]["ownerReferences"]
    patch = merge({"metadata": {"ownerReferences": owners}, **UNSUSPENDED})
    done = await team.researcher.run("patch", "appwrapper", "tried", "-n", TEAM, *patch)
    assert (done.code, done.err) == (
        1,
        warned(STARTED_BY_KUEUE) + 'The AppWrapper "tried" is invalid: metadata.ownerReferences: '
        "Forbidden: a queued AppWrapper cannot get a controller: Kueue would never evict it "
        "again\n",
    )
    assert (await team.stored())["metadata"] == queued["metadata"]
    await no_pod(team)


async def created(team: Team, body: JsonObject) -> Completed:
    return await team.researcher.run("create", "-f", "-", stdin=json.dumps(body))


@pytest.mark.parametrize("queue", ["default-queue", "", None])
@pytest.mark.parametrize("suspend", [True, False, None])
async def test_nobody_creates_one_with_pod_set_infos(
    team: Team, queue: str | None, suspend: bool | None
) -> None:
    spec = {} if suspend is None else {"suspend": suspend}
    done = await created(team, with_infos(manifest(queue=queue, **spec)))
    assert (done.code, done.err) == (
        1,
        'The AppWrapper "tried" is invalid: spec.components[0].podSetInfos: Forbidden: Kueue '
        "writes them when it admits the AppWrapper; leave them out\n",
    )
    await no_pod(team)


@pytest.mark.parametrize("labels", [{}, {QUEUE: ""}, {QUEUE: "no-such-queue"}])
async def test_nobody_creates_one_that_runs_at_once(team: Team, labels: dict[str, str]) -> None:
    body = manifest(suspend=False)
    body["metadata"]["labels"] = labels
    try:
        made = await team.submit(body)
        assert made["spec"]["suspend"] is True
        expected = labels.get(QUEUE) or "default-queue"
        assert made["metadata"]["labels"][QUEUE] == expected
        await no_pod(team)
    finally:
        await team.delete("tried")


async def test_replacing_by_force_makes_another_one_that_waits(
    team: Team, queued: JsonObject
) -> None:
    file = json.dumps(manifest(suspend=False))
    await team.researcher("replace", "--force", "-f", "-", stdin=file)
    now = await team.stored()
    assert now["metadata"]["uid"] != queued["metadata"]["uid"]
    assert now["spec"]["suspend"] is True
    await no_pod(team)


async def test_what_runs_keeps_where_kueue_put_it(team: Team, running: JsonObject) -> None:
    components = with_infos(running, [{"nodeSelector": {"gpu": "better"}}])["spec"]["components"]
    on_it = ["appwrapper", "running", "-n", TEAM]
    done = await team.researcher.run("patch", *on_it, *merge({"spec": {"components": components}}))
    assert (done.code, done.err) == (0, warned(WRITTEN_BY_KUEUE))
    assert (await team.stored("running"))["spec"] == running["spec"]


async def patched_by(someone: Kubectl, patch: JsonObject) -> tuple[JsonObject, str]:
    """The object as the API server stored it, before Kueue can put its foot down."""
    done = await someone.run(
        "patch", "appwrapper", "tried", "-n", TEAM, "-o", "json", *merge(patch)
    )
    assert done.code == 0, done.err
    found: JsonObject = json.loads(done.out)
    return found, done.err


@pytest.mark.parametrize("who", ["admin", "kueue"])
async def test_kueue_and_an_admin_may_start_it(team: Team, queued: JsonObject, who: str) -> None:
    """Kueue takes an admin's start back at once, since its queue admits nothing."""
    allowed: Kubectl = getattr(team, who)
    stored, err = await patched_by(allowed, UNSUSPENDED)
    assert err == ""
    assert not stored["spec"].get("suspend")

    async def suspended() -> bool:
        return bool((await team.stored())["spec"].get("suspend"))

    await comes_to(suspended, True)
    await no_pod(team)


@pytest.mark.parametrize("who", ["admin", "kueue"])
async def test_kueue_and_an_admin_may_write_pod_set_infos(
    team: Team, queued: JsonObject, who: str
) -> None:
    stored, err = await patched_by(getattr(team, who), {"spec": {"components": FORGED}})
    assert err == ""
    assert stored["spec"]["components"][0]["podSetInfos"] == INFOS
    assert stored["spec"]["suspend"] is True


async def test_an_admin_who_replaces_a_file_starts_nothing(team: Team, queued: JsonObject) -> None:
    done = await team.admin.run("replace", "-f", "-", stdin=json.dumps(manifest()))
    assert (done.code, done.err) == (0, warned(STARTED_BY_KUEUE))
    assert (await team.stored())["spec"] == queued["spec"]
    await no_pod(team)
