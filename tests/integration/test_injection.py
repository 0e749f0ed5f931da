"""What admission puts into AppWrappers, what Kueue reserves for them, and where their pods land.

All through the real API server, beside the real Kueue. Pods get Coscheduler's name here.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from localcluster.cluster import LocalCluster
from shared.api.component_digest import component_digest
from shared.api.json import JsonObject
from shared.kube.client import KubeClient, PatchType, Propagation
from shared.kube.resource import APPWRAPPERS, NODES, PODS, Resource
from tests.appwrapper_life import SIMULATION, exists, listed
from tests.builders.autopilot import GPU, HEALTH
from tests.integration.test_samples import WORKLOADS, comes_to
from tests.kubectl import Completed, Kubectl

NAMESPACE = "team1"
NAME = "injected"
QUEUE = "kueue.x-k8s.io/queue-name"
# A queue that does not exist: Kueue makes the Workload, and admits nothing.
NOWHERE = {QUEUE: "nowhere"}
LABEL = "workload.codeflare.dev/appwrapper"
DIGEST = "workload.codeflare.dev.appwrapper/submitted-digest"
SCHEDULER = "scheduler-plugins-scheduler"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
BAD = {"key": HEALTH, "operator": "NotIn", "values": ["ERR", "TESTING", "EVICT"]}
WORSE = {
    "weight": 50,
    "preference": {"matchExpressions": [{"key": HEALTH, "operator": "NotIn", "values": ["WARN"]}]},
}
AFFINITY = {
    "nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [BAD]}]},
        PREFERRED: [WORSE],
    }
}
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
LEADER_WORKER_SETS = Resource(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)


def template(gpus: int = 0, **spec: Any) -> JsonObject:
    """A pod template; its pods run until they are deleted."""
    resources = {"limits": {GPU: str(gpus)}} if gpus else {"requests": {"cpu": "100m"}}
    return {
        "metadata": {"annotations": {f"{SIMULATION}hang": "running"}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "pytorch", "image": "i", "resources": resources}],
            **spec,
        },
    }


def kind(api_version: str, kind: str, **spec: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": NAME}, "spec": spec}


def pod(gpus: int = 0, name: str = NAME) -> JsonObject:
    made = template(gpus)
    made["metadata"]["name"] = name
    return {"apiVersion": "v1", "kind": "Pod", **made}


def pytorch_job(**roles: JsonObject) -> JsonObject:
    specs = {role: {"replicas": 1, "template": each} for role, each in roles.items()}
    return kind("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=specs)


def ray(gpus: int = 0) -> JsonObject:
    group = {"groupName": "workers", "replicas": 2, "template": template(gpus)}
    return {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [group]}


SERVICE = {**kind("v1", "Service", ports=[{"port": 80}])}
DEPLOYMENT = kind(
    "apps/v1",
    "Deployment",
    replicas=2,
    selector={"matchLabels": {"app": NAME}},
    template=template(),
)
JOB_SET = kind(
    "jobset.x-k8s.io/v1alpha2",
    "JobSet",
    replicatedJobs=[
        {
            "name": "a",
            "replicas": 2,
            "template": {"spec": {"parallelism": 3, "template": template()}},
        },
        {"name": "b", "template": {"spec": {"template": template()}}},
    ],
)
LEADER_WORKER_SET = kind(
    "leaderworkerset.x-k8s.io/v1",
    "LeaderWorkerSet",
    replicas=2,
    leaderWorkerTemplate={
        "size": 3,
        "leaderTemplate": template(),
        "workerTemplate": template(8),
    },
)
GROUP = "template.spec.leaderWorkerTemplate"
MPI_ROLES = "template.spec.mpiReplicaSpecs"


def mpi_job(version: str) -> JsonObject:
    roles = {
        "Worker": {"replicas": 4, "template": template(8)},
        "Launcher": {"template": template()},
    }
    return kind(f"kubeflow.org/{version}", "MPIJob", mpiReplicaSpecs=roles)


def manifest(*components: Any, **metadata: Any) -> JsonObject:
    """An AppWrapper of templates, or of components where they have a template of their own."""
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"namespace": NAMESPACE, **(metadata or {"name": NAME})},
        "spec": {
            "components": [
                each if "template" in each else {"template": each} for each in components
            ]
        },
    }


class Team:
    """What a user of team1 submits, and what becomes of it."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.client: KubeClient = cluster.client
        self.kubectl = Kubectl(cluster.kubectl, cluster.kubeconfig)
        self._names = {NAME}

    async def create(self, *components: Any, **metadata: Any) -> JsonObject:
        """`kubectl create -f FILE`; the stored object."""
        body = json.dumps(manifest(*components, **metadata))
        text = await self.kubectl("create", "-o", "json", "-f", "-", stdin=body)
        created: JsonObject = json.loads(text)
        self._names.add(created["metadata"]["name"])
        return created

    async def queued_nowhere(self, *components: Any) -> JsonObject:
        """Created, and never admitted; the stored object."""
        return await self.create(*components, name=NAME, labels=NOWHERE)

    async def refused(self, *components: Any) -> Completed:
        return await self.kubectl.run("create", "-f", "-", stdin=json.dumps(manifest(*components)))

    async def stored(self, name: str = NAME) -> JsonObject:
        return await self.client.get(APPWRAPPERS, NAMESPACE, name)

    async def pod_phases(self, name: str = NAME) -> dict[str, str]:
        pods = await listed(self.client, PODS, NAMESPACE, f"{LABEL}={name}")
        return {each["metadata"]["name"]: each["status"]["phase"] for each in pods}

    async def counts(self) -> list[int]:
        """Of the pod sets that Kueue's Workload reserves quota for; [] while there is none."""
        for workload in await listed(self.client, WORKLOADS, NAMESPACE):
            owners = workload["metadata"].get("ownerReferences", [])
            if NAME in [owner["name"] for owner in owners]:
                return [each["count"] for each in workload["spec"]["podSets"]]
        return []

    async def clean_up(self) -> None:
        command = ("delete", "appwrapper", "-n", NAMESPACE, "--ignore-not-found", "--timeout=60s")
        await self.kubectl(*command, *self._names)


@pytest.fixture
async def team(cluster: LocalCluster) -> AsyncIterator[Team]:
    found = Team(cluster)
    yield found
    await found.clean_up()


# What is stored


async def test_gpu_pods_get_label_scheduler_and_affinity_and_other_pods_no_affinity(
    team: Team,
) -> None:
    job = pytorch_job(Master=template(8), Worker=template())
    component = (await team.queued_nowhere(job))["spec"]["components"][0]
    roles = component["template"]["spec"]["pytorchReplicaSpecs"]
    master, worker = (roles[role]["template"] for role in ("Master", "Worker"))
    for each in (master, worker):
        assert each["metadata"]["labels"] == {LABEL: NAME}
        assert each["spec"]["schedulerName"] == SCHEDULER
    assert master["spec"]["affinity"] == AFFINITY
    assert "affinity" not in worker["spec"]
    assert component["annotations"] == {DIGEST: component_digest({"template": job})}


@pytest.mark.parametrize("gpus", [0, 8])
async def test_master_and_worker_alike(team: Team, gpus: int) -> None:
    job = pytorch_job(Master=template(gpus), Worker=template(gpus))
    stored = await team.queued_nowhere(job)
    roles = stored["spec"]["components"][0]["template"]["spec"]["pytorchReplicaSpecs"]
    found = [roles[role]["template"]["spec"].get("affinity") for role in ("Master", "Worker")]
    assert found == [AFFINITY if gpus else None] * 2


async def test_the_users_own_scheduler_and_terms_stay(team: Team) -> None:
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    terms = [{"matchExpressions": [zone]}, here, {}]
    own = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    job = pytorch_job(Master=template(8, schedulerName="mine", affinity=own))
    stored = await team.queued_nowhere(job)
    roles = stored["spec"]["components"][0]["template"]["spec"]["pytorchReplicaSpecs"]
    assert roles["Master"]["template"]["spec"]["schedulerName"] == "mine"
    assert roles["Master"]["template"]["spec"]["affinity"]["nodeAffinity"] == {
        REQUIRED: {
            "nodeSelectorTerms": [
                {"matchExpressions": [zone, BAD]},
                {**here, "matchExpressions": [BAD]},
                {},  # matches no node, and must not begin to
            ]
        },
        PREFERRED: [WORSE],
    }


async def test_while_the_name_is_to_be_generated_pods_get_it_from_the_controller(
    team: Team,
) -> None:
    stored = await team.create(pod(), generateName="injected-")
    name = stored["metadata"]["name"]
    template = stored["spec"]["components"][0]["template"]
    assert "labels" not in template["metadata"]
    await comes_to(lambda: team.pod_phases(name), {NAME: "Running"})


async def test_the_same_file_again_changes_nothing(team: Team) -> None:
    file = json.dumps(
        manifest(pytorch_job(Master=template(8)), LEADER_WORKER_SET, name=NAME, labels=NOWHERE)
    )
    await team.kubectl("apply", "-f", "-", stdin=file)
    before = await team.stored()
    for command in ("apply", "replace"):
        await team.kubectl(command, "-f", "-", stdin=file)
        after = await team.stored()
        assert after["spec"] == before["spec"]
        assert after["metadata"]["generation"] == before["metadata"]["generation"]


# Pod sets


POD_SETS: list[Any] = [
    pytest.param(pod(), [1], id="Pod"),
    pytest.param(DEPLOYMENT, [2], id="Deployment"),
    pytest.param({**DEPLOYMENT, "kind": "StatefulSet"}, [2], id="StatefulSet"),
    pytest.param(
        kind("batch/v1", "Job", parallelism=2, completions=4, template=template()),
        [2],
        id="Job, fewer at once",
    ),
    pytest.param(
        kind("batch/v1", "Job", parallelism=8, completions=4, template=template()),
        [4],
        id="Job, fewer in all",
    ),
    pytest.param(
        kind("batch/v1", "Job", completions=4, template=template()),
        [1],
        id="Job, completions alone",
    ),
    pytest.param(JOB_SET, [6, 1], id="JobSet"),
    pytest.param(pytorch_job(Worker=template(), Master=template()), [1, 1], id="PyTorchJob"),
    pytest.param(kind("ray.io/v1", "RayCluster", **ray()), [1, 2], id="RayCluster"),
    pytest.param(kind("ray.io/v1", "RayJob", rayClusterSpec=ray()), [1, 2], id="RayJob"),
    pytest.param(LEADER_WORKER_SET, [2, 4], id="LeaderWorkerSet"),
    pytest.param(mpi_job("v1"), [1, 4], id="MPIJob v1"),
    pytest.param(mpi_job("v2beta1"), [1, 4], id="MPIJob v2beta1"),
]


@pytest.mark.parametrize(("wrapped", "pods"), POD_SETS)
async def test_kueue_reserves_quota_for_the_pods_of_each_kind(
    team: Team, wrapped: JsonObject, pods: list[int]
) -> None:
    await team.queued_nowhere(wrapped)
    await comes_to(team.counts, pods)

    async def ours() -> list[int]:
        status = (await team.stored()).get("status", {})
        return [
            each.get("replicas", 1)
            for component in status.get("componentStatus", [])
            for each in component["podSets"]
        ]

    # Once the status has them Kueue reads them there: its Workload stays the same.
    await comes_to(ours, pods)
    assert await team.counts() == pods


@pytest.mark.parametrize(
    ("wrapped", "pod_sets"),
    [
        pytest.param(
            LEADER_WORKER_SET,
            [
                {"path": f"{GROUP}.leaderTemplate", "replicas": 2},
                {"path": f"{GROUP}.workerTemplate", "replicas": 4},
            ],
            id="LeaderWorkerSet",
        ),
        pytest.param(
            mpi_job("v2beta1"),
            [
                {"path": f"{MPI_ROLES}.Launcher.template", "replicas": 1},
                {"path": f"{MPI_ROLES}.Worker.template", "replicas": 4},
            ],
            id="MPIJob",
        ),
    ],
)
async def test_what_kueue_cannot_infer_is_declared_and_injected_into(
    team: Team, wrapped: JsonObject, pod_sets: list[JsonObject]
) -> None:
    component = (await team.queued_nowhere(wrapped))["spec"]["components"][0]
    assert component["podSets"] == pod_sets
    text = json.dumps(component["template"])
    assert text.count(json.dumps({LABEL: NAME})) == 2
    assert text.count(f'"schedulerName": "{SCHEDULER}"') == 2
    assert text.count(json.dumps(AFFINITY["nodeAffinity"][REQUIRED])) == 1


async def test_a_users_own_declaration_stands_with_a_warning(team: Team) -> None:
    declared = [{"path": f"{GROUP}.workerTemplate", "replicas": 6}]
    body = json.dumps(
        manifest({"template": LEADER_WORKER_SET, "podSets": declared}, name=NAME, labels=NOWHERE)
    )
    created = await team.kubectl.run("create", "-f", "-", stdin=body)
    assert created.code == 0
    assert (
        "Warning: spec.components[0].podSets differ from what the LeaderWorkerSet itself says "
        f"({GROUP}.leaderTemplate x 2, {GROUP}.workerTemplate x 4); "
        "quota is reserved for the declared ones\n"
    ) in created.err
    assert (await team.stored())["spec"]["components"][0]["podSets"] == declared
    await comes_to(team.counts, [6])


async def test_a_leader_worker_set_is_created_with_everything_injected(team: Team) -> None:
    async with served(team.client, LEADER_WORKER_SETS):
        await team.create(LEADER_WORKER_SET)
        await comes_to(lambda: exists(team.client, LEADER_WORKER_SETS, NAMESPACE, NAME), True)
        assert await team.counts() == [2, 4]
        made = await team.client.get(LEADER_WORKER_SETS, NAMESPACE, NAME)
        group = made["spec"]["leaderWorkerTemplate"]
        for index, (role, affinity) in enumerate(
            {"leaderTemplate": None, "workerTemplate": AFFINITY}.items()
        ):
            labels = group[role]["metadata"]["labels"]
            assert labels[LABEL] == NAME
            assert labels["kueue.x-k8s.io/podset"] == f"{NAME}-{index}"
            assert group[role]["spec"]["schedulerName"] == SCHEDULER
            assert group[role]["spec"].get("affinity") == affinity
        await team.clean_up()
        assert not await exists(team.client, LEADER_WORKER_SETS, NAMESPACE, NAME)


@asynccontextmanager
async def served(client: KubeClient, resource: Resource) -> AsyncIterator[None]:
    """The API server has the Kind, whatever its objects look like; nobody acts on it."""
    definition = f"{resource.plural}.{resource.group}"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"kind": resource.kind, "plural": resource.plural}
    version = {"name": resource.version, "served": True, "storage": True}
    body: JsonObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": definition},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced",
            "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
        },
    }
    if resource.group.endswith(".k8s.io"):
        approval = {"api-approved.kubernetes.io": "unapproved, of a test"}
        body["metadata"]["annotations"] = approval
    await client.create(CRDS, None, body)

    async def established() -> bool:
        found = await client.get(CRDS, None, definition)
        conditions = found.get("status", {}).get("conditions", [])
        return any(
            each["type"] == "Established" and each["status"] == "True" for each in conditions
        )

    try:
        await comes_to(established, True)
        yield
    finally:
        await client.delete(CRDS, None, definition, uid=None, propagation=Propagation.BACKGROUND)
        await comes_to(lambda: exists(client, CRDS, None, definition), False)


# What is refused


SPARK = kind("sparkoperator.k8s.io/v1beta2", "SparkApplication")
INVALID = f'The AppWrapper "{NAME}" is invalid: '


def declared(*pod_sets: Any, of: JsonObject = LEADER_WORKER_SET) -> JsonObject:
    return {"template": of, "podSets": list(pod_sets)}


def path_refused(path: str, problem: str) -> Any:
    error = (
        f'spec.components[0].podSets[0].path: Invalid value: "{path}": '
        f"does not lead to a pod template: {problem}"
    )
    return pytest.param(declared({"path": path}), error, id=path)


OTHER = (
    "spec.components[0].podSets: Invalid value: Kueue infers other pod sets for a Deployment: "
    "template.spec.template x 2; leave podSets out"
)


@pytest.mark.parametrize(
    ("component", "error"),
    [
        pytest.param(
            SERVICE,
            "spec.components: Required value: at least one component must have pods, but none does "
            "(Service); for a Kind whose pods are not known, declare podSets",
            id="no pods",
        ),
        path_refused(f"{GROUP}.headTemplate", f"{GROUP} has no field 'headTemplate'"),
        pytest.param(
            declared({"path": ""}),
            "spec.components[0].podSets[0].path: Required value: a pod set must say where its pod "
            "template is, such as template.spec.template",
            id="empty path",
        ),
        path_refused(
            f"{GROUP}.workerTemplate.metadata",
            f"{GROUP}.workerTemplate.metadata has no spec object, so it is not a pod template",
        ),
        path_refused("template[0]", "template is an object, not an array"),
        path_refused(
            f"{GROUP}.workerTemplate.spec.containers.spec",
            f"{GROUP}.workerTemplate.spec.containers is an array, not an object",
        ),
        path_refused(
            f"{GROUP}.workerTemplate.spec.containers",
            f"{GROUP}.workerTemplate.spec.containers is an array, not a pod template",
        ),
        path_refused(
            f"{GROUP}.workerTemplate.spec.containers[10]",
            f"{GROUP}.workerTemplate.spec.containers has 1 elements, so there is no [10]",
        ),
        *(
            path_refused(
                f"template.spec[{index}]",
                f"after 'template.spec': index '{index}' is not a number from 0",
            )
            for index in ("-1", "a10")
        ),
        path_refused("template.spec[1", "after 'template.spec': '[1' is neither '.key' nor '[n]'"),
        path_refused(
            "template.spec[1]]", "after 'template.spec[1]': ']' is neither '.key' nor '[n]'"
        ),
        path_refused("spec.template", "the path must start with 'template'"),
        pytest.param(
            declared({"path": "template.spec.template", "replicas": 3}, of=DEPLOYMENT),
            OTHER,
            id="other replicas",
        ),
        pytest.param(
            declared({"path": "template.spec.template"}, of=DEPLOYMENT),
            OTHER,
            id="replicas left out",
        ),
        pytest.param(
            declared(
                {"path": "template.spec.template", "replicas": 2},
                {"path": "template.spec.template", "replicas": 2},
                of=DEPLOYMENT,
            ),
            'spec.components[0].podSets[1].path: Duplicate value: "template.spec.template": '
            "each pod template can be declared once",
            id="the same path twice",
        ),
        pytest.param(
            declared({"path": "template", "replicas": 2}, of=DEPLOYMENT), OTHER, id="other path"
        ),
    ],
)
async def test_pod_sets_that_kueue_could_not_follow_are_refused(
    team: Team, component: JsonObject, error: str
) -> None:
    refused = await team.refused(component)
    assert (refused.code, refused.err) == (1, f"{INVALID}{error}\n")


async def test_an_appwrapper_without_components_is_refused(team: Team) -> None:
    refused = await team.refused()
    assert (refused.code, refused.err) == (
        1,
        f"{INVALID}spec.components: Required value: "
        "an AppWrapper must contain at least one component\n",
    )


async def test_eight_pod_sets_are_accepted_and_nine_refused(team: Team) -> None:
    pods = [pod(name=f"{NAME}-{index}") for index in range(9)]
    refused = await team.refused(*pods)
    assert (refused.code, refused.err) == (
        1,
        f"{INVALID}spec.components: Too many: 9: "
        "all components together must have at most 8 pod sets\n",
    )
    await team.queued_nowhere(*pods[:8])
    await comes_to(team.counts, [1] * 8)


async def test_pod_sets_declared_as_inferred_are_accepted(team: Team) -> None:
    one = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 1}}
    await team.queued_nowhere(
        declared({"path": "template.spec.template", "replicas": 2}, of=DEPLOYMENT),
        # Replicas left out are one.
        declared({"path": "template.spec.template"}, of=one),
    )
    await comes_to(team.counts, [2, 1])


async def test_kinds_may_be_mixed(team: Team) -> None:
    here = pod(name=f"{NAME}-here")
    here["metadata"]["namespace"] = NAMESPACE
    cluster = kind("ray.io/v1", "RayCluster", **ray())
    await team.queued_nowhere(pod(), DEPLOYMENT, here, cluster, JOB_SET)
    await comes_to(team.counts, [1, 2, 1, 1, 2, 6, 1])


# Where pods land


@asynccontextmanager
async def health(client: KubeClient, value: str) -> AsyncIterator[list[str]]:
    """Autopilot's label on every node, taken off again; the nodes' names."""
    nodes = [item async for page in client.list_pages(NODES) for item in page.items]
    names = sorted(node["metadata"]["name"] for node in nodes)
    for name in names:
        await tag(client, name, value)
    try:
        yield names
    finally:
        for name in names:
            await tag(client, name, None)


async def tag(client: KubeClient, node: str, value: str | None) -> None:
    change = {"metadata": {"labels": {HEALTH: value}}}
    await client.patch(NODES, None, node, change, PatchType.MERGE)


async def test_gpu_pods_land_only_on_nodes_that_autopilot_has_not_tagged(team: Team) -> None:
    async def scheduling() -> dict[str, str]:
        """Of each pod: its node, or why it has none."""
        pods = await listed(team.client, PODS, NAMESPACE, f"{LABEL}={NAME}")
        return {
            pod["metadata"]["name"]: pod["spec"].get("nodeName") or unscheduled(pod) for pod in pods
        }

    async with health(team.client, "ERR") as nodes:
        await team.create(pod(8, name="gpu"), pod(name="cpu"))
        # Nothing but the tag stands between the pod and eight empty nodes.
        await comes_to(lambda: among(scheduling, nodes), {"cpu": "a node", "gpu": "Unschedulable"})
        for index, node in enumerate(nodes):
            await tag(team.client, node, ("TESTING", "EVICT", "ERR")[index % 3])
        healed = nodes[5]
        await tag(team.client, healed, "PASS")
        await comes_to(team.pod_phases, {"cpu": "Running", "gpu": "Running"})
        assert (await scheduling())["gpu"] == healed


async def among(scheduling: Callable[[], Awaitable[dict[str, str]]], nodes: list[str]) -> Any:
    return {
        pod: "a node" if place in nodes else place for pod, place in (await scheduling()).items()
    }


def unscheduled(pod: JsonObject) -> str:
    conditions = pod["status"].get("conditions", [])
    return "".join(each["reason"] for each in conditions if each["type"] == "PodScheduled")
