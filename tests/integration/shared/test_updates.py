"""What may change once an AppWrapper is stored, through the real API server and under Kueue."""

import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions
from tests.support.builders.jobs import scaled
from tests.support.cluster.another_team import member_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.people import admin
from tests.support.cluster.removed import removed
from tests.support.cluster.tries import json_patch, merge
from tests.support.cluster.unchanged import assert_same
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.kueue

NAME = "updates"
ON_IT = ("appwrapper", NAME, "-n", NAMESPACE)
QUEUE = "kueue.x-k8s.io/queue-name"
USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"
SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": NAME},
    "spec": {"selector": {"app": NAME}, "ports": [{"port": 80}]},
}
IMMUTABLE = "Forbidden: cannot change"
INSTEAD = ": delete the AppWrapper and create it again, or run `kubectl replace --force -f FILE`"


def manifest(**spec: Any) -> JsonObject:
    """A Deployment with its pod set declared, and a Service."""
    pod_sets = [{"path": "template.spec.template", "replicas": 1}]
    served = {"template": scaled("Deployment", NAME, replicas=1), "podSets": pod_sets}
    made = appwrapper(NAME, served, SERVICE, queued=False, namespace=NAMESPACE)
    made["spec"] |= spec
    return made


@pytest_asyncio.fixture(loop_scope="session")
async def kubectl(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    yield admin(cluster)
    await removed(cluster.client, APPWRAPPERS, NAMESPACE, NAME)


async def stored(cluster: RunningCluster) -> JsonObject:
    return await cluster.client.get(APPWRAPPERS, NAMESPACE, NAME)


async def comes_to_run(cluster: RunningCluster) -> JsonObject:
    async def runs() -> bool:
        now = await stored(cluster)
        return phase(now) == "Running" and "PodsReady" in true_conditions(now)

    await comes_to(runs, True)
    return await stored(cluster)


@pytest_asyncio.fixture(loop_scope="session")
async def running(cluster: RunningCluster, kubectl: Kubectl) -> JsonObject:
    """It runs, with Kueue's podSetInfos."""
    await kubectl("create", "-f", "-", stdin=json.dumps(manifest()))
    found = await comes_to_run(cluster)
    assert found["spec"]["components"][0]["podSetInfos"]
    return found


POD_SETS = "/spec/components/0/podSets"
REPLICAS = "/spec/components/0/template/spec/replicas"
REFUSED = [
    pytest.param(
        {"op": "replace", "path": REPLICAS, "value": 2},
        f"spec.components[0].template: {IMMUTABLE} (it differs at template.spec.replicas){INSTEAD}",
        id="a template",
    ),
    pytest.param(
        {"op": "replace", "path": REPLICAS, "value": True},
        f"spec.components[0].template: {IMMUTABLE} (it differs at template.spec.replicas){INSTEAD}",
        id="1 to true",
    ),
    pytest.param(
        {"op": "remove", "path": "/spec/components/1"},
        f"spec.components: {IMMUTABLE} (components before: 2, now: 1){INSTEAD}",
        id="one component less",
    ),
    pytest.param(
        {"op": "add", "path": "/spec/components/-", "value": {"template": SERVICE}},
        f"spec.components: {IMMUTABLE} (components before: 2, now: 3){INSTEAD}",
        id="one component more",
    ),
    pytest.param(
        {"op": "remove", "path": f"{POD_SETS}/0/path"},
        None,  # the CRD's schema says it
        id="no path of a pod set",
    ),
    pytest.param(
        {"op": "replace", "path": f"{POD_SETS}/0/path", "value": "template.spec"},
        f"spec.components[0].podSets[0].path: {IMMUTABLE}{INSTEAD}",
        id="the path of a pod set",
    ),
    pytest.param(
        {"op": "replace", "path": f"{POD_SETS}/0/replicas", "value": 2},
        f"spec.components[0].podSets[0].replicas: {IMMUTABLE}{INSTEAD}",
        id="the replicas of a pod set",
    ),
    pytest.param(
        {"op": "add", "path": f"{POD_SETS}/-", "value": {"path": "template"}},
        f"spec.components[0].podSets: {IMMUTABLE}{INSTEAD}",
        id="one pod set more",
    ),
]


@pytest.mark.parametrize(("operation", "error"), REFUSED)
async def test_components_and_user_cannot_change(
    cluster: RunningCluster,
    kubectl: Kubectl,
    running: JsonObject,
    operation: JsonObject,
    error: str | None,
) -> None:
    done = await kubectl.run("patch", *ON_IT, *json_patch(operation))
    assert done.code == 1
    if error is not None:
        assert done.err == f'The AppWrapper "{NAME}" is invalid: {error}\n'
    assert_same(await stored(cluster), running)


FREE = [
    pytest.param(
        {"op": "add", "path": "/spec/components/0/annotations/note", "value": "x"},
        id="a component's annotation",
    ),
    pytest.param(
        {"op": "add", "path": f"{POD_SETS}/0/annotations", "value": {"note": "x"}},
        id="a pod set's annotation",
    ),
    pytest.param({"op": "add", "path": "/metadata/labels/team", "value": "a"}, id="a label"),
    pytest.param(
        {"op": "add", "path": "/metadata/annotations/note", "value": "x"}, id="an annotation"
    ),
    pytest.param(
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/mine"},
        id="a finalizer",
    ),
]


@pytest.mark.parametrize("operation", FREE)
async def test_other_things_may_change_while_it_runs(
    cluster: RunningCluster, kubectl: Kubectl, running: JsonObject, operation: JsonObject
) -> None:
    now = json.loads(await kubectl("patch", *ON_IT, "-o", "json", *json_patch(operation)))
    place: Any = now
    *parents, last = operation["path"].strip("/").split("/")
    for step in parents:
        place = place[int(step) if step.isdecimal() else step]
    assert (place[-1] if last == "-" else place[last]) == operation["value"]
    if last == "-":
        await kubectl("patch", *ON_IT, *merge({"metadata": {"finalizers": None}}))
    after = await stored(cluster)
    assert after["metadata"]["finalizers"] == running["metadata"]["finalizers"]
    assert phase(after) == "Running"


@pytest.mark.parametrize(
    "pod_set",
    [
        {"path": "template.spec.template"},
        {"path": "template.spec.template", "replicas": None},
        {"path": "template.spec.template", "replicas": 1.0},
    ],
)
async def test_one_replica_may_be_written_another_way(
    cluster: RunningCluster, kubectl: Kubectl, running: JsonObject, pod_set: JsonObject
) -> None:
    operation = {"op": "replace", "path": f"{POD_SETS}/0", "value": pod_set}
    await kubectl("patch", *ON_IT, *json_patch(operation))
    assert (await stored(cluster))["spec"] == running["spec"]


async def test_dropped_labels_are_restored(
    cluster: RunningCluster, kubectl: Kubectl, running: JsonObject
) -> None:
    await kubectl("label", *ON_IT, f"{QUEUE}-", f"{USER}-", f"{USERID}-")
    assert_same(await stored(cluster), running)


async def test_every_error_of_a_changed_file_is_shown_at_once(
    cluster: RunningCluster, kubectl: Kubectl, running: JsonObject
) -> None:
    """The file lacks what was injected; the errors name what its author changed."""
    changed = manifest()
    [deployment, service] = changed["spec"]["components"]
    deployment["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    service["template"]["spec"]["ports"][0]["port"] = 81
    refused = await kubectl.run("apply", "-f", "-", stdin=json.dumps(changed))
    assert refused.code == 1
    assert refused.err.endswith(
        f'The AppWrapper "{NAME}" is invalid: \n'
        f"* spec.components[0].template: {IMMUTABLE} (it differs at "
        f"template.spec.template.spec.containers[0].image){INSTEAD}\n"
        f"* spec.components[1].template: {IMMUTABLE} (it differs at "
        "template.spec.ports[0].port)\n"
    )


async def test_another_users_update_leaves_the_submitter_as_stored(
    cluster: RunningCluster, running: JsonObject
) -> None:
    await member_of(cluster, NAMESPACE)("label", *ON_IT, "team=a")
    after = await stored(cluster)
    assert after["metadata"]["labels"] == {**running["metadata"]["labels"], "team": "a"}


async def test_a_suspension_releases_the_place_to_kueue(
    cluster: RunningCluster, kubectl: Kubectl, running: JsonObject
) -> None:
    """Kueue has admitted it still, and so starts it again. A warning says so."""
    pods = running["spec"]["components"][0]["podSetInfos"]
    done = await kubectl.run("patch", *ON_IT, "-o", "json", *merge({"spec": {"suspend": True}}))
    assert done.err == (
        "Warning: Kueue undoes spec.suspend: true within seconds, and all pods restart: to stop "
        "the AppWrapper, delete it and submit it again later, or let an admin run "
        "`kueuectl stop workload WORKLOAD`\n"
    )
    assert json.loads(done.out)["spec"]["suspend"] is True

    async def is_suspended() -> bool:
        return bool((await stored(cluster))["spec"].get("suspend"))

    await comes_to(is_suspended, False)
    again = await comes_to_run(cluster)
    assert again["spec"]["components"][0]["podSetInfos"] == pods


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "example.com/other"),
        (None, ""),
        ("example.com/other", "example.com/another"),
        ("example.com/other", ""),
        ("example.com/other", None),
    ],
)
async def test_who_manages_it_cannot_change(
    cluster: RunningCluster, kubectl: Kubectl, before: str | None, after: str | None
) -> None:
    spec = {} if before is None else {"managedBy": before}
    await kubectl("create", "-f", "-", stdin=json.dumps(manifest(suspend=True, **spec)))
    done = await kubectl.run("patch", *ON_IT, *merge({"spec": {"managedBy": after}}))
    assert done.code == 1
    assert "managedBy" in done.err
    assert (await stored(cluster))["spec"].get("managedBy") == before


async def test_an_object_being_deleted_is_neither_changed_nor_refused(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    body = manifest()
    # It never starts, so that Kueue has nothing against another queue.
    body["metadata"] |= {"finalizers": ["example.com/mine"], "labels": {QUEUE: "nowhere"}}
    await kubectl("create", "-f", "-", stdin=json.dumps(body))
    await kubectl("delete", *ON_IT, "--wait=false")
    try:
        changed = copy.deepcopy(SERVICE)
        operation = {"op": "replace", "path": "/spec/components/1/template", "value": changed}
        changed["spec"]["ports"][0]["port"] = 81
        await kubectl("patch", *ON_IT, *json_patch(operation))
        await kubectl("label", "--overwrite", *ON_IT, f"{QUEUE}-", f"{USER}=nobody")
        after = await stored(cluster)
        assert after["spec"]["components"][1]["template"] == changed
        assert QUEUE not in after["metadata"]["labels"]
        assert after["metadata"]["labels"][USER] == "nobody"
    finally:
        await kubectl("patch", *ON_IT, *merge({"metadata": {"finalizers": None}}))
