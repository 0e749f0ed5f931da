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
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.people import admin
from tests.support.cluster.removed import removed
from tests.support.cluster.tries import json_patch, merge
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.kueue

NAME = "updates"
ON_IT = ("appwrapper", NAME, "-n", NAMESPACE)
QUEUE = "kueue.x-k8s.io/queue-name"
USER = "workload.codeflare.dev/user"
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


async def test_a_suspension_releases_the_place_to_kueue(
    cluster: RunningCluster, kubectl: Kubectl, running: JsonObject
) -> None:
    """Kueue has admitted it still, and so starts it again. A warning says so."""
    pods = running["spec"]["components"][0]["podSetInfos"]
    done = await kubectl.run("patch", *ON_IT, "-o", "json", *merge({"spec": {"suspend": True}}))
    assert done.err == (
        "Warning: Kueue undoes spec.suspend: true within seconds, and all pods restart: to stop "
        "the AppWrapper, run `appwrapper hold NAME`; `appwrapper release NAME` queues it again\n"
    )
    assert json.loads(done.out)["spec"]["suspend"] is True

    async def is_suspended() -> bool:
        return bool((await stored(cluster))["spec"].get("suspend"))

    await comes_to(is_suspended, False)
    again = await comes_to_run(cluster)
    assert again["spec"]["components"][0]["podSetInfos"] == pods


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
