"""Our manifests over those of the Go operator, however both were applied: ours is what is there.

On a control plane of its own. Its nodes are simulated, so pods start and nothing runs in them: what
is shown is that everything is admitted, that Services lead to our pods, and that nothing of the
other's decides anything any more.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.machine.progress import silent
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go
from shared.api.objects import JsonObject
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.people import admin
from tests.support.patience import KUBECTL_PATIENCE, comes_to

pytestmark = pytest.mark.long

OURS = "deploy/manifests/overlays/default"
SYSTEM = "appwrapper-system"
DEFINITION = "appwrappers.workload.codeflare.dev"
SERVICE = "appwrapper-webhook-service"
GO_DEPLOYMENT = "appwrapper-controller-manager"
CERTIFICATE = {"tls.crt": "b2xk", "tls.key": "b2xk", "ca.crt": "b2xk", "ca.key": "b2xk"}
CA = "b2xk"
# kubectl's word to whoever applies what somebody created: no trouble.
ADOPTS = "is missing the kubectl.kubernetes.io/last-applied-configuration annotation"
# What stays of the Go operator, harmless once it runs no more; from-the-go-operator.md deletes it.
LEFT = {
    "ClusterRole/appwrapper-manager-role",
    "ClusterRole/appwrapper-metrics-auth-role",
    "ClusterRole/appwrapper-metrics-reader",
    "ClusterRoleBinding/appwrapper-manager-rolebinding",
    "ClusterRoleBinding/appwrapper-metrics-auth-rolebinding",
    "Deployment/appwrapper-controller-manager",
    "Role/appwrapper-leader-election-role",
    "RoleBinding/appwrapper-leader-election-rolebinding",
    "Service/appwrapper-controller-manager-metrics-service",
    "ServiceAccount/appwrapper-controller-manager",
}
Objects = dict[str, JsonObject]


@pytest.fixture(scope="module")
async def empty() -> AsyncIterator[LocalCluster]:
    async with LocalCluster(ClusterOptions(nodes=2, product=False)) as running:
        yield running


@pytest.fixture(scope="module")
async def go_manifests() -> str:
    """The folder of the Go operator's manifests, as `kubectl apply -k` takes it."""
    cache = BuildCache(default_folder(), await find_go(), silent)
    folder: Path = await cache.module_folder(CATALOGUE["appwrapper"])
    return str(folder / "config" / "default")


@pytest.fixture
async def kubectl(empty: LocalCluster) -> AsyncIterator[Kubectl]:
    """As admin of a cluster in which neither is installed, before and after."""
    command = admin(empty)
    await remove_both(command)
    yield command
    await remove_both(command)


async def remove_both(kubectl: Kubectl) -> None:
    """All but the namespace, which takes long to go."""
    hooks = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    policies = "validatingadmissionpolicies,validatingadmissionpolicybindings"
    cluster_wide = f"{hooks},{policies},clusterroles,clusterrolebindings"
    ours = ("--selector", "app.kubernetes.io/name=appwrapper")
    inside = "deployments,poddisruptionbudgets,resourcequotas,services,configmaps,secrets"
    rights = "serviceaccounts,roles,rolebindings"
    await asyncio.gather(
        kubectl("delete", cluster_wide, *ours, "--ignore-not-found"),
        kubectl("delete", f"{inside},{rights}", "--all", "-n", SYSTEM, "--ignore-not-found"),
        kubectl("delete", "customresourcedefinition", DEFINITION, "--ignore-not-found"),
    )


async def objects_in(kubectl: Kubectl, folder: str) -> Objects:
    """What a kustomization renders to, by kind and name."""
    rendered = yaml.safe_load_all(await kubectl("kustomize", folder))
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in rendered if one}


async def stored(kubectl: Kubectl, rendered: Objects) -> Objects:
    """What the API server has of these objects; those that it has not are left out."""
    text = yaml.safe_dump_all(rendered.values())
    listed = await kubectl("get", "-f", "-", "-o", "json", "--ignore-not-found", stdin=text)
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in json.loads(listed)["items"]}


def decisive(found: Objects) -> Any:
    """What decides anything: not whose address, caBundle, version and history it is."""
    kept = json.loads(json.dumps(found))
    for one in kept.values():
        for part in ("metadata", "status"):
            one.pop(part, None)
        for webhook in one.get("webhooks", ()):
            webhook["clientConfig"].pop("caBundle", None)
        for field in ("clusterIP", "clusterIPs"):
            if one.get("spec", {}).get(field) not in (None, "None", ["None"]):
                one["spec"].pop(field)
        if one["kind"] == "Secret":
            one.pop("data", None)
        one.pop("secrets", None)
    return kept


async def apply(kubectl: Kubectl, *how: str, stdin: str = "") -> None:
    """And nothing is warned of but that somebody else made it."""
    done = await kubectl.run(*how, stdin=stdin)
    assert done.code == 0, done.err
    warnings = [line for line in done.err.splitlines() if "Warning:" in line]
    assert [line for line in warnings if ADOPTS not in line] == []


async def install_go_operator(kubectl: Kubectl, how: tuple[str, ...], folder: str) -> None:
    """As if it had run: its certificate is in the Secret and in both configurations."""
    parts = await objects_in(kubectl, folder)
    # The namespace is there already.
    text = yaml.safe_dump_all(one for one in parts.values() if one["kind"] != "Namespace")
    await apply(kubectl, *how, "-f", "-", stdin=text)
    data = json.dumps({"data": CERTIFICATE})
    await kubectl("patch", "secret", "-n", SYSTEM, "appwrapper-webhook-server-cert", "-p", data)
    bundle = json.dumps(
        [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": CA}],
    )
    for kind in ("mutating", "validating"):
        name = f"appwrapper-{kind}-webhook-configuration"
        await kubectl("patch", f"{kind}webhookconfiguration", name, "--type=json", "-p", bundle)


async def scale_down(kubectl: Kubectl) -> None:
    """What an admin does first: this controller waits for the Go operator's lease."""
    await kubectl("scale", "-n", SYSTEM, "deployment", GO_DEPLOYMENT, "--replicas=0")
    selector = ("-n", SYSTEM, "--selector", "control-plane=controller-manager")
    await kubectl("wait", "--for=delete", "pods", *selector, KUBECTL_PATIENCE)


async def ready_behind(kubectl: Kubectl, service: str) -> int:
    """Pods that a Service leads to."""
    selector = f"kubernetes.io/service-name={service}"
    listed = await kubectl("get", "endpointslices", "-n", SYSTEM, "-l", selector, "-o", "json")
    return sum(
        bool(each["conditions"]["ready"])
        for piece in json.loads(listed)["items"]
        for each in piece.get("endpoints") or ()
    )


async def until_our_pods_serve(kubectl: Kubectl) -> None:
    """Their namespace's level, quota and priority let them in, and the Services know them."""
    for program in ("webhook", "controller"):
        name = f"deployment/appwrapper-{program}"
        await kubectl("rollout", "status", "-n", SYSTEM, name, KUBECTL_PATIENCE)
    expected = {
        SERVICE: 2,
        "appwrapper-webhook-metrics-service": 2,
        "appwrapper-controller-metrics-service": 2,
    }

    async def look() -> dict[str, int]:
        counts = await asyncio.gather(*(ready_behind(kubectl, name) for name in expected))
        return dict(zip(expected, counts, strict=True))

    await comes_to(look, expected)


@pytest.fixture(scope="module")
async def fresh(empty: LocalCluster) -> Any:
    """Ours where nothing was before."""
    kubectl = admin(empty)
    await remove_both(kubectl)
    await apply(kubectl, "apply", "-k", OURS)
    rendered = await objects_in(kubectl, OURS)
    found = await stored(kubectl, rendered)
    assert found.keys() == rendered.keys()
    await until_our_pods_serve(kubectl)
    return decisive(found)


CLIENT_SIDE = ("apply",)
SERVER_SIDE = ("apply", "--server-side", "--force-conflicts")


@pytest.mark.parametrize("ours", [CLIENT_SIDE, SERVER_SIDE], ids=" ".join)
@pytest.mark.parametrize(
    "theirs",
    [
        ("apply",),
        # What Helm does, and a tool that applies as somebody else.
        ("create", "--field-manager=helm"),
        ("apply", "--server-side", "--field-manager=argocd-controller"),
    ],
    ids=" ".join,
)
async def test_only_the_products_controller_decides(
    kubectl: Kubectl,
    fresh: Any,
    go_manifests: str,
    theirs: tuple[str, ...],
    ours: tuple[str, ...],
) -> None:
    await install_go_operator(kubectl, theirs, go_manifests)

    await apply(kubectl, *ours, "-k", OURS)

    rendered = await objects_in(kubectl, OURS)
    found = await stored(kubectl, rendered)
    assert decisive(found) == fresh
    # What API servers trusted they trust on: the webhook carries on with that certificate.
    assert found["Secret/appwrapper-webhook-server-cert"]["data"] == CERTIFICATE
    assert bundles(found) == {"mappwrapper.kb.io": CA, "vappwrapper.kb.io": CA}

    others = await objects_in(kubectl, go_manifests)
    assert (await stored(kubectl, others)).keys() - rendered.keys() == LEFT


async def test_services_lead_to_our_pods(kubectl: Kubectl, go_manifests: str) -> None:
    """With its Deployment at zero; what selects its pods selects none of ours."""
    await install_go_operator(kubectl, ("create",), go_manifests)
    await kubectl(
        "rollout", "status", "-n", SYSTEM, f"deployment/{GO_DEPLOYMENT}", KUBECTL_PATIENCE
    )
    await comes_to(lambda: ready_behind(kubectl, SERVICE), 1)
    await scale_down(kubectl)

    await apply(kubectl, "apply", "-k", OURS)

    await until_our_pods_serve(kubectl)
    await comes_to(lambda: ready_behind(kubectl, f"{GO_DEPLOYMENT}-metrics-service"), 0)


def bundles(found: Objects) -> dict[str, str]:
    return {
        webhook["name"]: webhook["clientConfig"]["caBundle"]
        for one in found.values()
        for webhook in one.get("webhooks", ())
        if "caBundle" in webhook["clientConfig"]
    }
