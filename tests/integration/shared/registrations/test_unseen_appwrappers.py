"""AppWrappers that no webhook has seen: made while it was away, or by whoever it does not ask.

Each must come to a clear end, stop nobody else's workload, and be deletable.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.conditions import condition
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, NAMESPACES, PODS, JsonObject, Resource
from shared.kube.client import Invalid, KubeClient, NotFound, PatchType, Propagation
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.registrations import REGISTRATIONS
from tests.support.cluster.resources import JOBS
from tests.support.cluster.simulated_pods import service_account_exists
from tests.support.patience import PATIENCE_SECONDS

UNSEEN = "unseen"
ENDING = "unseen-ending"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(cluster: RunningCluster) -> AsyncIterator[KubeClient]:
    """An admin's, with two namespaces that the webhook is not asked about."""
    admin = cluster.client
    kept = {name: await admin.get(kind, None, name) for name, kind in REGISTRATIONS.items()}
    for name, item in kept.items():
        await _set_webhooks(admin, name, [_blind(each) for each in item["webhooks"]])
    for name in (UNSEEN, ENDING):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await admin.create(NAMESPACES, None, body)
        await service_account_exists(admin, name)
    await _until_nobody_looks(admin)
    yield admin
    await delete(admin, NAMESPACES, None, UNSEEN)
    for name, item in kept.items():
        await _set_webhooks(admin, name, item["webhooks"])


async def _set_webhooks(client: KubeClient, name: str, webhooks: list[JsonObject]) -> None:
    body = {"webhooks": webhooks}
    await client.patch(REGISTRATIONS[name], None, name, body, PatchType.MERGE)


def _blind(webhook: JsonObject) -> JsonObject:
    rule = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": [UNSEEN, ENDING],
    }
    selector = webhook.get("namespaceSelector") or {}
    rules = [*(selector.get("matchExpressions") or []), rule]
    return {**webhook, "namespaceSelector": {**selector, "matchExpressions": rules}}


async def _until_nobody_looks(client: KubeClient) -> None:
    """API servers learn of a changed configuration a moment later."""
    body = appwrapper("probe", job("a"), queued=False, annotations={"retryLimit": "many"})
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                made = await client.create(APPWRAPPERS, UNSEEN, body, dry_run=True)
            except (Invalid, NotFound):  # it was asked; or Kueue's knows no such namespace yet
                await asyncio.sleep(0.1)
            else:
                # Of two configurations the API server may know one sooner: this label is of the
                # mutating webhook.
                if "workload.codeflare.dev/user" not in (made["metadata"].get("labels") or {}):
                    return
                await asyncio.sleep(0.1)


async def delete(
    client: KubeClient,
    resource: Resource,
    namespace: str | None,
    name: str,
    propagation: Propagation = Propagation.BACKGROUND,
) -> None:
    await client.delete(resource, namespace, name, uid=None, propagation=propagation)


def named(kind: str, name: str, version: str = "v1", **fields: Any) -> JsonObject:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def ill_typed() -> JsonObject:
    template = job("unseen-ill-typed")
    template["spec"]["template"]["metadata"] = {"labels": "x"}
    return template


def ill_typed_affinity() -> JsonObject:
    template = pod("unseen-affinity")
    template["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    template["spec"]["affinity"] = "x"
    return template


@dataclass(frozen=True)
class Case:
    """What is wrapped, and how it must end: the phase, and what the message says."""

    name: str
    templates: tuple[JsonObject, ...]
    phase: str = "Failed"
    says: str = ""
    annotations: dict[str, str] = field(default_factory=dict)
    component: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case(
        "exit-codes",
        (job("unseen-codes", hang="running"),),
        phase="Running",
        annotations={"terminalExitCodes": "--5," + "9" * 5000},
    ),
    Case("n" * 70, (job("unseen-long"),), says="must be no more than 63"),
    Case(
        "no-such-kind",
        (named("Thing", "a", "example.org/v1"),),
        says='no matches for kind "Thing" in version "example.org/v1"',
    ),
    Case(
        "unreadable",
        (
            named("ConfigMap", "unseen-first"),
            named("Role", "a", "rbac.authorization.k8s.io/v1"),
            named("Lease", "b", "coordination.k8s.io/v1"),
        ),
        says="spec.components[1]: 403 Forbidden",
        annotations={"admissionGracePeriodDuration": "1s", "retryLimit": "0"},
    ),
    Case("ill-typed", (ill_typed(),), says="template.spec.template.metadata.labels is a string"),
    Case(
        "ill-typed-affinity",
        (ill_typed_affinity(),),
        says="template.spec.affinity is a string, not an object",
    ),
    Case("no-namespace", (named("Node", "node-0"),), says="Node is not namespaced"),
    Case(
        "somebody-elses",
        (named("ConfigMap", "bystander"),),
        says="ConfigMap bystander exists already and has no owner",
    ),
    Case(
        "too-many-infos",
        (job("unseen-infos"),),
        component={"podSetInfos": [{}, {}]},
        says="podSetInfos and pod sets differ in number",
    ),
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bystanders(client: KubeClient) -> dict[str, str]:
    """Name → UID of what is none of the AppWrappers' business."""
    config_map = await client.create(CONFIGMAPS, UNSEEN, named("ConfigMap", "bystander"))
    body = pod("bystander", hang="running")
    body["metadata"]["labels"]["workload.codeflare.dev/appwrapper"] = "exit-codes"
    running = await client.create(PODS, UNSEEN, body)
    return {item["kind"]: item["metadata"]["uid"] for item in (config_map, running)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name[:20])
async def test_an_unseen_appwrapper_ends_clearly_and_can_be_deleted(
    client: KubeClient, bystanders: dict[str, str], case: Case
) -> None:
    body = appwrapper(case.name, *case.templates, queued=False, annotations=case.annotations)
    body["spec"]["components"][0].update(case.component)
    async with Life(client, UNSEEN, case.name) as life:
        await client.create(APPWRAPPERS, UNSEEN, body)
        ended = await life.until_phase(case.phase)
        unhealthy = condition(ended["status"]["conditions"], "Unhealthy") or {}
        assert (unhealthy.get("status") == "True") is bool(case.says)
        assert case.says in unhealthy.get("message", "")
        await delete(client, APPWRAPPERS, UNSEEN, case.name)
        await life.until_deleted()
    left = await listed(client, PODS, UNSEEN) + await listed(client, CONFIGMAPS, UNSEEN)
    ours = [each for each in left if each["metadata"]["name"] != "kube-root-ca.crt"]
    assert {each["metadata"]["uid"] for each in ours} == set(bystanders.values())
    assert all("deletionTimestamp" not in each["metadata"] for each in ours)


async def test_its_pods_avoid_bad_nodes_by_the_configuration_of_the_day(client: KubeClient) -> None:
    """As far as they ask for GPUs; the controller injects what no webhook has."""
    gpu, cpu = pod("unseen-gpu", hang="running"), pod("unseen-cpu", hang="running")
    gpu["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    async with Life(client, UNSEEN, "tagged") as life:
        await client.create(APPWRAPPERS, UNSEEN, appwrapper("tagged", gpu, cpu, queued=False))
        await life.until(lambda item: "PodsReady" in true_conditions(item), "PodsReady")
        affinities = {
            name: (await client.get(PODS, UNSEEN, name))["spec"].get("affinity")
            for name in ("unseen-gpu", "unseen-cpu")
        }
        await delete(client, APPWRAPPERS, UNSEEN, "tagged")
        await life.until_deleted()
    assert affinities["unseen-cpu"] is None
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    health = {"key": "autopilot.ibm.com/gpuhealth", "operator": "NotIn"}
    assert affinities["unseen-gpu"]["nodeAffinity"][required]["nodeSelectorTerms"] == [
        {"matchExpressions": [{**health, "values": ["ERR", "TESTING", "EVICT"]}]}
    ]


async def test_deleting_with_orphans_deletes_them_as_well(client: KubeClient) -> None:
    """The garbage collector takes the owner references away; the Job must not go on."""
    async with Life(client, UNSEEN, "orphans") as life:
        template = job("unseen-orphans", hang="running")
        await client.create(APPWRAPPERS, UNSEEN, appwrapper("orphans", template, queued=False))
        await life.until(lambda item: "PodsReady" in true_conditions(item), "PodsReady")
        await delete(client, APPWRAPPERS, UNSEEN, "orphans", Propagation.ORPHAN)
        await life.until_deleted()
    assert not await exists(client, JOBS, UNSEEN, "unseen-orphans")
    label = "workload.codeflare.dev/appwrapper=orphans"
    assert await listed(client, PODS, UNSEEN, label) == []


async def test_a_namespace_that_ends_takes_its_appwrappers_along(client: KubeClient) -> None:
    async with Life(client, ENDING, "going") as life:
        template = job("unseen-going", hang="running")
        await client.create(APPWRAPPERS, ENDING, appwrapper("going", template, queued=False))
        await life.until(lambda item: "PodsReady" in true_conditions(item), "PodsReady")
        await delete(client, NAMESPACES, None, ENDING)
        await life.until_deleted()
        assert {phase(event.object) for event in life.events} <= {
            "", "Suspended", "Resuming", "Running", "Terminating",
        }  # fmt: skip
    label = "workload.codeflare.dev/appwrapper=going"
    assert await listed(client, PODS, ENDING, label) == []


@pytest.mark.parametrize(
    ("resource", "served"),
    [
        (JOBS, True),
        (APPWRAPPERS, True),
        (Resource("batch", "v1", "things", "Thing"), False),
        (Resource("batch", "v9", "jobs", "Job"), False),
        (Resource("workload.codeflare.dev", "v1beta1", "appwrappers", "AppWrapper"), False),
        (Resource("example.org", "v1", "things", "Thing"), False),
    ],
)
async def test_a_missing_resource_is_distinguished_from_a_missing_object(
    client: KubeClient, resource: Resource, served: bool
) -> None:
    """The controller takes the one for no answer and the other for proof."""
    with pytest.raises(NotFound) as raised:
        await client.get(resource, UNSEEN, "nothing", metadata_only=True)
    assert raised.value.of_resource is not served
