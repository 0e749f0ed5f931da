"""In a team's namespace no pod uses counted resources that Kueue does not count."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders.admission import (
    POD,
    component,
    errors_of,
    queued,
    request,
    team_facts,
    warnings_of,
)
from webhook import chain
from webhook.verdicts import Allowed, Denied

GPU, CPU = {"nvidia.com/gpu": "1"}, {"cpu": "1"}
CLUSTER = "spec.components[0].template.spec"
WITHOUT = "Forbidden: nvidia.com/gpu would be used without quota"
LEAST = (
    "Invalid value: 20: KubeRay creates at least this many workers, but quota is reserved for 0: "
    "write as many replicas, or a lower minReplicas"
)
HOSTS = (
    f"{WITHOUT}: Kueue takes each replica for one pod: write numOfHosts 1, or create it without "
    "wrapping it"
)
BEYOND = f"{WITHOUT}: workers beyond replicas; write maxReplicas equal to replicas"
SUBMITTER = (
    f"{WITHOUT}: Kueue does not see the pod that submits the job: request them for the pods of the "
    "cluster"
)
OWN = (
    f"{WITHOUT}: not every Kueue sees the autoscaler's container: request them in a container of "
    "the head"
)
ROLE = (
    'Unsupported value: "worker": write "Worker" (replica types are case-sensitive; Kueue counts '
    "only Master and Worker)"
)


def template(amounts: Any = CPU, **fields: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": amounts}}
    return {"spec": {"containers": [container], **fields}}


def ray(group: Any = None, amounts: Any = GPU, **fields: Any) -> dict[str, Any]:
    groups = [] if group is None else [{"groupName": "g", "template": template(amounts), **group}]
    head = {"template": template()}
    return {"headGroupSpec": head, "workerGroupSpecs": groups, **fields}


def made(kind: str, **spec: Any) -> dict[str, Any]:
    """Their pods end with them."""
    group = "kubeflow.org" if kind.endswith("PyTorchJob") else "ray.io"
    ends: dict[str, dict[str, Any]] = {
        "PyTorchJob": {"runPolicy": {"cleanPodPolicy": "Running"}},
        "RayJob": {"shutdownAfterJobFinishes": True},
    }
    spec = {**ends.get(kind, {}), **spec}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "m"}, "spec": spec}


def wrapped(body: Any, **config: Any) -> list[str]:
    return errors_of(queued(component(body)), known=team_facts(**config))


def direct(body: Any, *, known: Any = None) -> tuple[list[str], list[str]]:
    """Why it is refused, and what is warned of."""
    group = body["apiVersion"].rpartition("/")[0]
    asked = request(body, group_kind=f"{group}/{body['kind']}")
    verdict = chain.validate(asked, known or team_facts())
    assert isinstance(verdict, Allowed | Denied)
    if isinstance(verdict, Allowed):
        return [], list(verdict.warnings)
    start = f'{body["kind"]}.{group} "job" is forbidden: '
    message = verdict.status["message"]
    assert message.startswith(start)
    return message.removeprefix(start).split("; spec"), list(verdict.warnings)


SCALING = {"enableInTreeAutoscaling": True}
WORKERS = {"template": template(GPU), "replicas": 2}
ELASTIC = {
    "elasticPolicy": {"maxReplicas": 20, "metrics": [{}]},
    "pytorchReplicaSpecs": {"Worker": WORKERS},
}
# The object, and the message if it is wrapped and if it is created directly; "" for none.
CASES = [
    (made("RayCluster", **ray({"replicas": 0, "minReplicas": 20})),
     "spec.workerGroupSpecs[0].minReplicas", LEAST, LEAST),
    (made("RayJob", rayClusterSpec=ray({"replicas": 0, "minReplicas": 20})),
     "spec.rayClusterSpec.workerGroupSpecs[0].minReplicas", LEAST, LEAST),
    # Kueue's own integration counts hosts, follows or refuses autoscaling, and sees submitters.
    (made("RayCluster", **ray({"replicas": 1, "numOfHosts": 20})),
     "spec.workerGroupSpecs[0].numOfHosts", HOSTS, ""),
    (made("RayCluster", **ray({"replicas": 1, "maxReplicas": 20}, **SCALING)),
     "spec.enableInTreeAutoscaling", BEYOND, ""),
    (made("RayJob", rayClusterSpec=ray(), submitterPodTemplate=template(GPU)),
     "spec.submitterPodTemplate", SUBMITTER, ""),
    (made("RayJob", rayClusterSpec=ray(), submissionMode="K8sJobMode", submitterPodTemplate={
        "spec": {**POD["spec"], "initContainers": template(GPU)["spec"]["containers"]}}),
     "spec.submitterPodTemplate", SUBMITTER, ""),
    # A job on a cluster that is there already Kueue leaves alone.
    (made("RayJob", clusterSelector={"ray.io/cluster": "c"}, rayClusterSpec=ray(),
          submitterPodTemplate=template(GPU)),
     "spec.submitterPodTemplate", SUBMITTER, SUBMITTER),
    (made("RayCluster", **ray(autoscalerOptions={"resources": {"limits": GPU}}, **SCALING)),
     "spec.autoscalerOptions.resources", OWN, OWN),
    (made("PyTorchJob", **ELASTIC), "spec.elasticPolicy.metrics", BEYOND, BEYOND),
    (made("PyTorchJob", pytorchReplicaSpecs={"worker": WORKERS, "Master": WORKERS}),
     "spec.pytorchReplicaSpecs", ROLE, ROLE),
]  # fmt: skip


@pytest.mark.parametrize(("body", "path", "where_wrapped", "where_direct"), CASES)
def test_gpus_beyond_what_is_counted_are_refused(
    body: Any, path: str, where_wrapped: str, where_direct: str
) -> None:
    assert wrapped(body) == [f"spec.components[0].template.{path}: {where_wrapped}"]
    expected = [f"{path}: {where_direct}"] if where_direct else []
    assert direct(body) == (expected, [])


def with_cpu(body: Any) -> Any:
    """The same with cpu in the place of GPUs."""
    if isinstance(body, dict):
        return CPU if body == GPU else {key: with_cpu(value) for key, value in body.items()}
    return [with_cpu(each) for each in body] if isinstance(body, list) else body


@pytest.mark.parametrize(("body", "path", "where_wrapped", "where_direct"), CASES)
def test_uncounted_cpu_alone_causes_a_warning(
    body: Any, path: str, where_wrapped: str, where_direct: str
) -> None:
    """Those that are certain, and could be counted, are refused where they are wrapped, as ever."""
    known, cpu = team_facts(), queued(component(with_cpu(body)))
    start = f"spec.components[0].template.{path}: not counted against the quota: "
    if where_wrapped in (LEAST, ROLE):
        assert len(errors_of(cpu, known=known)) == 1
    else:
        assert errors_of(cpu, known=known) == []
        assert [each for each in warnings_of(cpu, known=known) if each.startswith(start)] != []
    refused, warned = direct(with_cpu(body))
    assert refused == []
    assert len(warned) == (1 if where_direct else 0)
    assert all(each.startswith(f"{path}: not counted against the quota: ") for each in warned)


@pytest.mark.parametrize(
    "body",
    [
        # As codeflare-sdk writes it: the options, and no autoscaler.
        made("RayCluster", **ray({"replicas": 2, "minReplicas": 2, "maxReplicas": 2},
             enableInTreeAutoscaling=False, autoscalerOptions={"resources": {"limits": GPU}})),
        made("RayCluster", **ray({"replicas": 2, "maxReplicas": 9})),
        made("RayCluster", **ray({"replicas": 2, "maxReplicas": 2, "numOfHosts": 1}, **SCALING)),
        made("RayJob", rayClusterSpec=ray({"replicas": 2})),  # KubeRay's default submitter
        made("RayJob", rayClusterSpec=ray(), submitterPodTemplate=template({})),
        made("RayJob", rayClusterSpec=ray(), submissionMode="HTTPMode",
             submitterPodTemplate=template(GPU)),
        made("PyTorchJob", elasticPolicy={"minReplicas": 1, "maxReplicas": 20},
             pytorchReplicaSpecs={"Worker": WORKERS}),
        made("PyTorchJob", elasticPolicy={"maxReplicas": 2, "metrics": [{}]},
             pytorchReplicaSpecs={"Worker": WORKERS}),
    ],
)  # fmt: skip
def test_counted_resources_are_allowed(body: Any) -> None:
    assert wrapped(body) == []
    assert direct(body) == ([], [])


def test_objects_of_platform_operators_are_not_checked() -> None:
    body = CASES[0][0]
    assert direct(body, known=replace(team_facts(), is_platform=True)) == ([], [])
    assert direct(body, known=replace(team_facts(), is_team_namespace=False)) == ([], [])


def test_resource_claims_of_what_is_created_directly() -> None:
    body = made("RayCluster", headGroupSpec={"template": template(resourceClaims=[{"name": "g"}])})
    path = "spec.headGroupSpec.template.spec.resourceClaims"
    what = "not every Kueue counts resource claims"
    assert direct(body) == (
        [
            f"{path}: Forbidden: {what}: request devices in the containers' resources, or have an "
            "admin allow claims (configuration resourceClaims)"
        ],
        [],
    )
    warned = [f"{path}: not counted against the quota: {what}"]
    assert direct(body, known=team_facts(resource_claims="Warn")) == ([], warned)


FROM_TEMPLATE = {"name": "g", "resourceClaimTemplateName": "one-gpu"}


@pytest.mark.parametrize("other", [{"name": "h", "resourceClaimName": "shared"}, {"name": "h"}])
def test_resource_claims_that_kueue_counts(other: dict[str, str]) -> None:
    counts = team_facts(resource_claims="Count")
    claims = template(resourceClaims=[FROM_TEMPLATE, other])
    assert direct(made("RayCluster", headGroupSpec={"template": claims}), known=counts) == (
        [
            "spec.headGroupSpec.template.spec.resourceClaims[1]: Forbidden: Kueue counts only "
            "claims that each pod gets from a template: set resourceClaimTemplateName"
        ],
        [],
    )
    only = made("RayCluster", headGroupSpec={"template": template(resourceClaims=[FROM_TEMPLATE])})
    assert direct(only, known=counts) == ([], [])


def test_resource_claims_count_like_a_counted_resource() -> None:
    """Of pods that Kueue does not count, no device may be used, however the pods get it."""
    group = {"template": template(resourceClaims=[FROM_TEMPLATE]), "replicas": 0, "minReplicas": 9}
    body = made("RayCluster", headGroupSpec={"template": template()}, workerGroupSpecs=[group])
    (refused,), _ = direct(body, known=team_facts(resource_claims="Count"))
    assert refused.startswith("spec.workerGroupSpecs[0].minReplicas: Invalid value: 9: ")
    errors, warnings = direct(body, known=team_facts(resource_claims="Warn"))
    assert (errors, len(warnings)) == ([], 2)


def test_sidecars_of_what_is_created_directly_are_counted() -> None:
    sidecar = {**template(GPU)["spec"]["containers"][0], "restartPolicy": "Always"}
    master = {"template": template(GPU, initContainers=[sidecar])}
    assert direct(made("PyTorchJob", pytorchReplicaSpecs={"Master": master})) == ([], [])


def test_more_worker_groups_than_can_be_read_are_refused() -> None:
    groups = [{"template": template(GPU), "replicas": 0, "minReplicas": 9}] * 101
    body = made("RayCluster", headGroupSpec={"template": template()}, workerGroupSpecs=groups)
    assert direct(body) == (
        ["spec.workerGroupSpecs has 101 elements, but at most 100 are read"],
        [],
    )


def test_more_roles_than_can_be_read_are_refused() -> None:
    """However many that want cpu alone stand before the one that wants GPUs."""
    roles = {f"r{index}": {"template": template()} for index in range(100)}
    body = made("PyTorchJob", pytorchReplicaSpecs={**roles, "worker": WORKERS})
    problem = "spec.pytorchReplicaSpecs has 101 fields, but at most 100 are read"
    assert direct(body) == ([problem], [])
    assert wrapped(body) == [f"spec.components[0].template: Invalid value: template.{problem}"]
    del roles["r0"]
    a_hundred = made("PyTorchJob", pytorchReplicaSpecs={**roles, "worker": WORKERS})
    assert len(wrapped(a_hundred)) == 100, "each is refused by its name"


def test_many_warnings_hide_no_refusal() -> None:
    """Most users' roles use cpu alone, and the chain limits how many warnings it returns."""
    roles = {f"a{index:02}": {"template": template()} for index in range(90)}
    specs = {"Master": {"template": template()}, **roles, "worker": WORKERS}
    assert direct(made("PyTorchJob", pytorchReplicaSpecs=specs))[0] == [
        f"spec.pytorchReplicaSpecs: {ROLE}"
    ]
    groups = [{"template": template(), "replicas": 1} for _ in range(90)]
    claimed = {"template": template(resourceClaims=[{"name": "g"}]), "replicas": 1}
    cluster = {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [*groups, claimed]}
    (refused,), _ = direct(made("RayCluster", **cluster))
    assert refused.startswith("spec.workerGroupSpecs[90].template.spec.resourceClaims: Forbidden: ")


def lws(*, amounts: Any = GPU, **fields: Any) -> dict[str, Any]:
    groups = {"workerTemplate": template(amounts), "size": 4}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "l"},
        "spec": {"replicas": 2, "leaderWorkerTemplate": groups, **fields},
    }


def mpi(version: str = "v1") -> dict[str, Any]:
    roles = {"Launcher": {"template": template()}, "Worker": {**WORKERS, "replicas": 8}}
    spec = {"mpiReplicaSpecs": roles}
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "spec": spec}


LWS_PATH = "template.spec.leaderWorkerTemplate.workerTemplate"
MPI_PATH = "template.spec.mpiReplicaSpecs"


@pytest.mark.parametrize(
    ("body", "declared", "says"),
    [
        (lws(), {LWS_PATH: 1}, f"LeaderWorkerSet makes more pods ({LWS_PATH} x 8)"),
        (lws(), {LWS_PATH: 7}, f"LeaderWorkerSet makes more pods ({LWS_PATH} x 8)"),
        (mpi(), {f"{MPI_PATH}.Launcher.template": 1},
         f"MPIJob makes more pods ({MPI_PATH}.Launcher.template x 1, "
         f"{MPI_PATH}.Worker.template x 8)"),
        (mpi("v2beta1"), {f"{MPI_PATH}.Worker.template": 7},
         f"MPIJob makes more pods ({MPI_PATH}.Launcher.template x 1, "
         f"{MPI_PATH}.Worker.template x 8)"),
        (lws(), {LWS_PATH: 8}, ""),
        (lws(), {LWS_PATH: 9}, ""),
        (lws(amounts=CPU), {LWS_PATH: 1}, ""),
        (mpi(), {f"{MPI_PATH}.Worker.template": 8}, ""),  # the launcher wants cpu alone
    ],
)  # fmt: skip
def test_pod_sets_declared_below_what_comes(body: Any, declared: Any, says: str) -> None:
    pod_sets = [{"path": path, "replicas": count} for path, count in declared.items()]
    errors = errors_of(queued(component(body, podSets=pod_sets)), known=team_facts())
    expected = (
        f"spec.components[0].podSets: Invalid value: the {says}, and the pods that are not "
        "declared would run without quota; declare these, or leave podSets out"
    )
    assert errors == ([expected] if says else [])
