"""The same file again, while the workload runs under the real Kueue: nothing changes."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.apply import read_documents
from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import KubeClient
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod_template
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.unchanged import assert_same
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

NAME = "same"
ON_IT = ("appwrapper", NAME, "-n", NAMESPACE)
DIGEST = "workload.codeflare.dev.appwrapper/submitted-digest"


def gpu_template(container: str) -> JsonObject:
    """Pods with a whole node's GPUs, which admission keeps off nodes that Autopilot tagged."""
    template = pod_template(container=container, hang="running")
    main = template["spec"]["containers"][0]
    main["resources"] = {"requests": {"cpu": 1}, "limits": {"nvidia.com/gpu": 8}}
    return template


def replicated(kind: str, roles: dict[str, int], container: str, **spec: Any) -> JsonObject:
    """A PyTorchJob or an MPIJob."""
    of = {"PyTorchJob": "pytorchReplicaSpecs", "MPIJob": "mpiReplicaSpecs"}[kind]
    replicas = {
        role: {"replicas": count, "restartPolicy": "Never", "template": gpu_template(container)}
        for role, count in roles.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": NAME},
        "spec": {of: replicas, **spec},
    }


def with_nulls() -> JsonObject:
    """As many generators write it. Kueue's merge patch drops every key with null."""
    made = job(NAME, pods=1, hang="running")
    made["metadata"]["creationTimestamp"] = None
    made["spec"]["activeDeadlineSeconds"] = None
    template = made["spec"]["template"]
    template["metadata"]["creationTimestamp"] = None
    template["spec"]["nodeSelector"] = None
    template["spec"]["containers"][0]["env"] = None
    return made


@dataclass(frozen=True)
class File:
    """What is wrapped; what admission must have made of it; whether pods come."""

    template: JsonObject
    injected: tuple[str, ...]
    has_pods: bool = True

    @property
    def text(self) -> str:
        made = appwrapper(NAME, self.template, queued=False, namespace=NAMESPACE)
        return json.dumps(made)


FILES = {
    "a Job": File(job(NAME, pods=2, hang="running"), ("schedulerName",)),
    "a PyTorchJob with GPUs": File(
        replicated("PyTorchJob", {"Master": 1, "Worker": 2}, "pytorch"),
        ("nodeAffinity", "autopilot.ibm.com/gpuhealth"),
    ),
    # Its operator is not there, so it gets no pods; Kueue admits it all the same.
    "an MPIJob": File(
        replicated("MPIJob", {"Launcher": 1, "Worker": 2}, "mpi"),
        ('"podSets"', "template.spec.mpiReplicaSpecs.Worker.template"),
        has_pods=False,
    ),
    "nulls": File(with_nulls(), ("schedulerName",)),
    "1.0 for 1": File(
        replicated("PyTorchJob", {"Master": 1}, "pytorch", runPolicy={"backoffLimit": 1.0}),
        ("nodeAffinity",),
    ),
}


@dataclass(frozen=True)
class Running:
    """An AppWrapper of NAME that Kueue has started, and who typed it."""

    kubectl: Kubectl
    client: KubeClient
    file: File

    async def stored(self) -> JsonObject:
        return await self.client.get(APPWRAPPERS, NAMESPACE, NAME)

    async def pods(self) -> set[str]:
        label = f"workload.codeflare.dev/appwrapper={NAME}"
        found = await listed(self.client, PODS, NAMESPACE, label)
        return {each["metadata"]["uid"] for each in found}

    async def runs(self) -> bool:
        stored = await self.stored()
        ready = not self.file.has_pods or "PodsReady" in true_conditions(stored)
        return phase(stored) == "Running" and ready

    async def start(self, *how: str) -> JsonObject:
        """`kubectl HOW -f FILE`; returns once it runs as Kueue and admission made it."""
        await self.kubectl(*how, "-f", "-", stdin=self.file.text)
        await comes_to(self.runs, True)
        stored = await self.stored()
        [component] = stored["spec"]["components"]
        assert component["podSetInfos"]
        assert component["annotations"][DIGEST]
        for text in self.file.injected:
            assert text in json.dumps(component)
        return stored

    async def again(self, *how: str) -> JsonObject:
        await self.kubectl(*how, "-f", "-", stdin=self.file.text)
        return await self.stored()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mpi_jobs(cluster: RunningCluster) -> AsyncIterator[None]:
    """Their CRD alone; nothing in the cluster acts on them."""
    crds = cluster.modules["training-operator"] / "manifests" / "base" / "crds"
    [definition] = read_documents(crds / "kubeflow.org_mpijobs.yaml")
    await cluster.apply([definition])
    yield
    admin = Kubectl(cluster.kubectl, cluster.kubeconfig)
    await admin("delete", "customresourcedefinition", definition["metadata"]["name"])


@pytest_asyncio.fixture(loop_scope="session", params=FILES)
async def running(
    cluster: RunningCluster, mpi_jobs: None, request: pytest.FixtureRequest
) -> AsyncIterator[Running]:
    admin = Kubectl(cluster.kubectl, cluster.kubeconfig)
    yield Running(admin, cluster.client, FILES[request.param])
    await admin("delete", *ON_IT, "--ignore-not-found")


@pytest.mark.parametrize("how", ["apply", "replace"])
async def test_applying_or_replacing_changes_nothing(running: Running, how: str) -> None:
    before, pods = await running.start("apply"), await running.pods()
    first = await running.again(how)
    assert_same(first, before)
    # The first time kubectl takes spec.components over from Kueue, in managedFields.
    assert_same(await running.again(how), first)
    assert await running.pods() == pods


async def test_applying_on_the_servers_side_meets_kueues_ownership(running: Running) -> None:
    before, pods = await running.start("apply", "--server-side"), await running.pods()
    refused = await running.kubectl.run(
        "apply", "--server-side", "-f", "-", stdin=running.file.text
    )
    assert refused.code == 1
    assert refused.err.startswith(
        'error: Apply failed with 1 conflict: conflict with "kueue" using '
        "workload.codeflare.dev/v1beta2: .spec.components\n"
    )
    assert_same(await running.stored(), before)
    forced = await running.again("apply", "--server-side", "--force-conflicts")
    assert_same(forced, before)
    # From now on it is kubectl's, until Kueue writes again.
    assert_same(await running.again("apply", "--server-side"), before)
    assert await running.pods() == pods
