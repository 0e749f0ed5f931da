"""Every Kind that may be wrapped besides those with pods: created, owned, missed, deleted."""

from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import CONFIGMAPS, SECRETS, JsonObject, Resource
from shared.kube.client import KubeClient, Propagation
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job
from tests.support.cluster.followed import followed, reported
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import exists
from tests.support.cluster.resources import (
    CLAIMS,
    POD_GROUPS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from tests.support.team import NAMESPACE

CONTROLLER = "system:serviceaccount:appwrapper-system:appwrapper-controller"
RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "none",
}
# The resource, and what an object of it needs besides its name.
KINDS: dict[str, tuple[Resource, dict[str, Any]]] = {
    "ConfigMap": (CONFIGMAPS, {"data": {"a": "b"}}),
    "Secret": (SECRETS, {"stringData": {"token": "x"}}),
    "Service": (SERVICES, {"spec": {"ports": [{"port": 80}]}}),
    "PersistentVolumeClaim": (CLAIMS, {"spec": CLAIM}),
    "ServiceAccount": (SERVICE_ACCOUNTS, {}),
    "PodGroup": (POD_GROUPS, {"spec": {"minMember": 1}}),
}


@pytest.fixture
def client(cluster: RunningCluster) -> KubeClient:
    return cluster.client


def needs(cluster: RunningCluster, kind: str) -> None:
    if kind == "PodGroup" and "coscheduler" not in cluster.options.components:
        pytest.skip("needs the coscheduler: --with coscheduler")


def wrapped(kind: str) -> JsonObject:
    resource, fields = KINDS[kind]
    name = f"wrapped-{kind.lower()}"
    template = {
        "apiVersion": resource.gvk.api_version,
        "kind": kind,
        "metadata": {"name": name},
        **fields,
    }
    return appwrapper(name, template, job(name, hang="running"))


@pytest.mark.parametrize("kind", KINDS)
async def test_it_is_owned_and_goes_with_the_appwrapper(
    cluster: RunningCluster, client: KubeClient, kind: str
) -> None:
    needs(cluster, kind)
    body, resource = wrapped(kind), KINDS[kind][0]
    name = body["metadata"]["name"]
    async with followed(client, NAMESPACE, body) as life:
        running = await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
        made = await client.get(resource, NAMESPACE, name)
        (owner,) = made["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (running["metadata"]["uid"], True)
        assert made["metadata"]["labels"]["workload.codeflare.dev/appwrapper"] == name
    assert not await exists(client, resource, NAMESPACE, name)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_component_deleted_by_another_client_is_missed(
    cluster: RunningCluster, client: KubeClient, kind: str
) -> None:
    """A Secret by looking, within 30 s; all others by their watch."""
    needs(cluster, kind)
    body, resource = wrapped(kind), KINDS[kind][0]
    name = body["metadata"]["name"]
    async with followed(client, NAMESPACE, body) as life:
        await life.until(lambda item: true_conditions(item) == RUNS, "all pods ready")
        await client.delete(resource, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND)
        failed = await life.until_phase("Failed")
        assert reported(failed, "Unhealthy") == (
            "True",
            "MissingComponent",
            f"deleted by another client: {kind} {name}",
        )


async def test_the_controller_may_read_secrets_that_it_can_name_and_no_others(
    cluster: RunningCluster, client: KubeClient
) -> None:
    """So it cannot have listed or watched them for what the tests above saw it do."""
    controller = Kubectl(cluster.kubectl, cluster.kubeconfig).impersonating(CONTROLLER)
    answers = {
        verb: (await controller.run("auth", "can-i", verb, "secrets", "-A")).out.strip()
        for verb in ("create", "get", "delete", "list", "watch", "update", "patch")
    }
    assert answers == {
        "create": "yes",
        "get": "yes",
        "delete": "yes",
        "list": "no",
        "watch": "no",
        "update": "no",
        "patch": "no",
    }
    log = (cluster.logs / "controller.log").read_text(errors="replace")
    assert '"message":"secrets: 403' not in log  # nor has it tried
