"""Nobody runs without quota: what a researcher may try, in a team whose queue admits nothing.

All through the real API server and Kueue, with the rights that deploy/team gives. Whatever is
tried, no pod is ever created. Kueue's identity and an admin may do what a researcher may not.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from tests.support.cluster.another_team import (
    another_team,
    member_of,
    team_documents,
    without_quota,
)
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import exists, listed
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import PYTORCH_JOBS
from tests.support.cluster.settled import until_settled
from tests.support.cluster.tries import (
    INFOS,
    OPEN,
    QUEUE,
    TEAM,
    PodsOfTheTeam,
    Team,
    json_patch,
    manifest,
    merge,
    no_pod,
    open_queue,
    owned_by,
    training,
    warned,
    with_infos,
)
from tests.support.cluster.unchanged import without_bookkeeping
from tests.support.patience import KUBECTL_PATIENCE, comes_to

pytestmark = pytest.mark.kueue

FINALIZER = "workload.codeflare.dev/finalizer"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
STARTED_BY_KUEUE = (
    "spec.suspend is reset to true: only Kueue starts a queued AppWrapper, "
    "or an admin who writes suspend: false"
)
WRITTEN_BY_KUEUE = (
    "spec.components[0].podSetInfos is reset: only Kueue starts a queued AppWrapper and writes this"
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def team(cluster: RunningCluster) -> AsyncIterator[Team]:
    documents = [without_quota(each) for each in team_documents(TEAM)] + open_queue()
    async with another_team(cluster, TEAM, documents):
        pods = PodsOfTheTeam(cluster.client)
        version = ""
        async with aclosing(cluster.client.pages(PODS, TEAM)) as pages:
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
        await team.submit(manifest())
        yield await until_settled(team.stored)
    finally:
        await team.delete("tried")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(team: Team) -> AsyncIterator[JsonObject]:
    """Another one, which has quota and runs."""
    try:
        await team.submit(manifest("running", OPEN))
        await comes_to(lambda: team.phase("running"), "Running")
        yield await team.stored("running")
    finally:
        await team.delete("running")


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


async def test_applying_on_the_servers_side_starts_nothing(team: Team) -> None:
    """Without a conflict: nobody but the file has written spec.components."""
    apply = ("apply", "--server-side", "-f", "-")
    try:
        await team.researcher(*apply, stdin=json.dumps(manifest()))
        queued = await team.stored()
        done = await team.researcher.run(*apply, stdin=json.dumps(manifest()))
        assert (done.code, done.err) == (0, "")
        assert (await team.stored())["spec"] == queued["spec"]
        await no_pod(team)
    finally:
        await team.delete("tried")


@pytest.mark.parametrize("queue", ["no-such-queue", "default-queue"])
async def test_another_queue_starts_nothing(team: Team, queued: JsonObject, queue: str) -> None:
    patch = merge({"metadata": {"labels": {QUEUE: queue}}, **UNSUSPENDED})
    await team.researcher("patch", "appwrapper", "tried", "-n", TEAM, *patch)
    assert (await team.stored())["spec"] == queued["spec"]
    await no_pod(team)


async def test_the_workload_of_another_one_starts_nothing(
    team: Team, queued: JsonObject, running: JsonObject
) -> None:
    """Kueue lets a label name a ready-made Workload, but not one that has an owner."""
    admitted = await team.workload_of(running)
    label = f"kueue.x-k8s.io/prebuilt-workload-name={admitted}"
    await team.researcher("label", "appwrapper", "tried", "-n", TEAM, label)
    await no_pod(team)
    assert (await team.stored())["spec"] == queued["spec"]


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
    forged = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "forged", "namespace": TEAM},
    }
    response = await team.created(forged)
    assert response.code == 403
    assert 'User "alice" cannot create resource "workloads"' in response.message


async def test_an_appwrapper_being_deleted_never_starts(team: Team) -> None:
    body = manifest()
    body["metadata"]["finalizers"] = ["example.com/mine"]
    await team.submit(body)
    on_it = ["appwrapper", "tried", "-n", TEAM]
    await team.researcher("delete", *on_it, "--wait=false")
    try:
        start = merge({"spec": {"suspend": None, "components": FORGED}})
        assert "spec cannot be changed" in (await team.researcher.run("patch", *on_it, *start)).err
        await team.admin("patch", *on_it, *start)
        assert "suspend" not in (await team.stored())["spec"]
        await no_pod(team)
    finally:
        await team.researcher("patch", *on_it, *merge({"metadata": {"finalizers": None}}))
        await team.delete("tried")


async def test_a_new_one_under_a_running_controller_never_starts(
    team: Team, running: JsonObject
) -> None:
    """Kueue takes it for a part of the other, and does not suspend it."""
    try:
        made = await team.submit(owned_by(running, manifest()))
        assert "suspend" not in made["spec"]
        await no_pod(team)
        assert await team.phase("tried") == "Suspended"
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
    assert without_bookkeeping(await team.stored()) == without_bookkeeping(queued)
    await no_pod(team)


async def test_no_job_of_its_own_runs_under_a_running_controller(
    team: Team, running: JsonObject
) -> None:
    body = training("tried", hang="running")
    body["metadata"] |= {"namespace": TEAM, "labels": {QUEUE: "default-queue"}}
    response = await team.created(owned_by(running, body))
    try:
        assert response.code == 403
        assert response.message.endswith(
            'PyTorchJob.kubeflow.org "tried" is forbidden: metadata.ownerReferences names a '
            "controller, so Kueue would let it run without quota of its own: leave that owner "
            "out, or set its controller to false"
        )
        await no_pod(team)
    finally:
        await removed(team.client, PYTORCH_JOBS, TEAM, "tried")


@pytest.mark.parametrize("queue", ["default-queue", "", None])
@pytest.mark.parametrize("suspend", [True, False, None])
async def test_an_appwrapper_with_pod_set_infos_is_refused(
    team: Team, queue: str | None, suspend: bool | None
) -> None:
    spec: dict[str, Any] = {} if suspend is None else {"suspend": suspend}
    response = await team.created(with_infos(manifest(queue=queue, **spec)))
    assert (response.code, response.errors) == (
        422,
        [
            "spec.components[0].podSetInfos: Forbidden: Kueue writes them when it admits the "
            "AppWrapper; leave them out"
        ],
    )
    await no_pod(team)


@pytest.mark.parametrize("labels", [{}, {QUEUE: ""}, {QUEUE: "no-such-queue"}])
async def test_a_new_appwrapper_waits_for_admission(team: Team, labels: dict[str, str]) -> None:
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


async def test_a_running_one_keeps_its_nodes(team: Team, running: JsonObject) -> None:
    components = with_infos(running, [{"nodeSelector": {"gpu": "better"}}])["spec"]["components"]
    on_it = ["appwrapper", "running", "-n", TEAM]
    done = await team.researcher.run("patch", *on_it, *merge({"spec": {"components": components}}))
    assert (done.code, done.err) == (0, warned(WRITTEN_BY_KUEUE))
    assert (await team.stored("running"))["spec"] == running["spec"]


async def test_no_pod_is_left_behind_without_its_appwrapper(team: Team) -> None:
    """Without our finalizer `--cascade=orphan` would free the job, and Kueue its quota."""
    await team.submit(manifest("left", OPEN))
    on_it = ["appwrapper", "left", "-n", TEAM]
    try:
        await comes_to(lambda: team.phase("left"), "Running")
        await team.researcher("patch", *on_it, *merge({"metadata": {"finalizers": None}}))
        assert (await team.stored("left"))["metadata"]["finalizers"] == [FINALIZER]
        refused = await team.researcher.run("delete", *on_it, "--cascade=orphan")
        assert "would leave its dependents running" in refused.err
        await team.admin("delete", *on_it, "--cascade=orphan", KUBECTL_PATIENCE)
        assert await listed(team.client, PODS, TEAM, "workload.codeflare.dev/appwrapper=left") == []
        assert not await exists(team.client, PYTORCH_JOBS, TEAM, "left")
    finally:
        await team.delete("left")


@pytest.mark.parametrize("who", ["admin", "kueue"])
async def test_kueue_and_an_admin_may_start_it(team: Team, queued: JsonObject, who: str) -> None:
    """Kueue takes an admin's start back at once, since its queue admits nothing."""
    allowed: Kubectl = getattr(team, who)
    stored, err = await team.patched_by(allowed, UNSUSPENDED)
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
    stored, err = await team.patched_by(getattr(team, who), {"spec": {"components": FORGED}})
    assert err == ""
    assert stored["spec"]["components"][0]["podSetInfos"] == INFOS
    assert stored["spec"]["suspend"] is True


async def test_an_admin_who_replaces_a_file_starts_nothing(team: Team, queued: JsonObject) -> None:
    done = await team.admin.run("replace", "-f", "-", stdin=json.dumps(manifest()))
    assert (done.code, done.err) == (0, warned(STARTED_BY_KUEUE))
    assert (await team.stored())["spec"] == queued["spec"]
    await no_pod(team)
