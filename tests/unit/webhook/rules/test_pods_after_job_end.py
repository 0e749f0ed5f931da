"""What a team's users create directly leaves no pod with counted resources behind."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.config.configuration import AllowedKinds
from shared.config.fault_tolerance import FaultToleranceConfig
from tests.support.builders.admission import request, team_facts
from tests.support.builders.jobs import pytorch_job
from webhook import chain
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Denied, Patched

GPU, CPU = {"nvidia.com/gpu": "1"}, {"cpu": "1"}
LIMIT = 600
WITHOUT = "nvidia.com/gpu would be used without quota"
RUN_ON = f"{WITHOUT}: pods that still run when the job has ended keep running: write Running or All"
CLEAN = "spec.runPolicy.cleanPodPolicy"
NO_STRATEGY = (
    f"Forbidden: {WITHOUT}: KubeRay then keeps the cluster of a job that misses its deadline: "
    "leave it out, shutdownAfterJobFinishes deletes the cluster"
)
WARNING = (
    f"{CLEAN} is set to Running: pods that still run when the PyTorchJob has ended would use "
    "nvidia.com/gpu without quota"
)


def template(amounts: Any = GPU, **fields: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": amounts}}
    return {"spec": {"containers": [container], **fields}}


def training(amounts: Any = GPU, **spec: Any) -> dict[str, Any]:
    """A master of cpus, and workers."""
    body = pytorch_job("mine", Master=template(CPU), Worker=(2, template(amounts)))
    body["spec"] |= spec
    return body


def cleaned(policy: Any, amounts: Any = GPU) -> dict[str, Any]:
    return training(amounts, runPolicy={"cleanPodPolicy": policy, "backoffLimit": 3})


def mpi_job() -> dict[str, Any]:
    roles = {"Launcher": {"template": template(CPU)}, "Worker": {"template": template()}}
    body = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "mine"}}
    return {**body, "spec": {"mpiReplicaSpecs": roles}}


def ray_job(amounts: Any = GPU, **spec: Any) -> dict[str, Any]:
    group = {"groupName": "w", "replicas": 1, "template": template(amounts)}
    cluster = {"headGroupSpec": {"template": template(CPU)}, "workerGroupSpecs": [group]}
    body = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "mine"}}
    fields = {"shutdownAfterJobFinishes": True, "rayClusterSpec": cluster, **spec}
    return {**body, "spec": {key: value for key, value in fields.items() if value is not ...}}


def asked(body: Any) -> Any:
    group = body["apiVersion"].rpartition("/")[0]
    return request(body, group_kind=f"{group}/{body['kind']}", name="mine")


def mutated(body: Any, known: Facts | None = None) -> tuple[list[Any], tuple[str, ...]]:
    """The patch, and what is warned of."""
    verdict = chain.mutate(asked(body), known or team_facts())
    assert isinstance(verdict, Allowed | Patched)
    return list(verdict.patch) if isinstance(verdict, Patched) else [], verdict.warnings


def refused(body: Any, known: Facts | None = None) -> list[str]:
    verdict = chain.validate(asked(body), known or team_facts())
    assert isinstance(verdict, Allowed | Denied)
    assert verdict.warnings == ()
    if isinstance(verdict, Allowed):
        return []
    assert verdict.rules == ("direct_endings",)
    message: str = verdict.status["message"]
    return message.partition(" is forbidden: ")[2].split("; ")


@pytest.mark.parametrize(
    ("spec", "added"),
    [
        ({}, [{"op": "add", "path": "/spec/runPolicy", "value": {"cleanPodPolicy": "Running"}}]),
        (
            {"runPolicy": {"backoffLimit": 3}},
            [{"op": "add", "path": "/spec/runPolicy/cleanPodPolicy", "value": "Running"}],
        ),
        (
            {"runPolicy": {"cleanPodPolicy": None}},
            [{"op": "add", "path": "/spec/runPolicy/cleanPodPolicy", "value": "Running"}],
        ),
    ],
)
def test_without_a_policy_workers_end_with_the_master(spec: Any, added: Any) -> None:
    assert mutated(training(**spec)) == (added, (WARNING,))


@pytest.mark.parametrize("policy", ["Running", "All"])
def test_who_ends_the_workers_is_left_alone(policy: str) -> None:
    assert mutated(cleaned(policy)) == ([], ())
    assert refused(cleaned(policy)) == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (cleaned("None"), f'Invalid value: "None": {RUN_ON}'),
        (cleaned(""), f'Invalid value: "": {RUN_ON}'),
        (cleaned(["Running"]), f"Invalid value: \"['Running']\": {RUN_ON}"),
        # Mutation was not asked, or is out of reach.
        (training(), f"Required value: {RUN_ON}"),
        (cleaned(None), f"Required value: {RUN_ON}"),
    ],
)
def test_who_leaves_workers_is_refused(body: Any, says: str) -> None:
    assert refused(body) == [f"{CLEAN}: {says}"]


@pytest.mark.parametrize("role", ["worker", "Chief"])
def test_pods_of_any_role_count(role: str) -> None:
    body = pytorch_job("mine", Master=template(CPU), **{role: template()})
    assert mutated(body)[1] == (WARNING,)


def test_an_mpijob_that_an_admin_allows_is_no_better() -> None:
    known = team_facts(allowed_kinds=AllowedKinds(direct=("kubeflow.org/MPIJob",)))
    assert mutated(mpi_job(), known) == (
        [{"op": "add", "path": "/spec/runPolicy", "value": {"cleanPodPolicy": "Running"}}],
        (WARNING.replace("PyTorchJob", "MPIJob"),),
    )
    assert refused(mpi_job(), known) == [f"{CLEAN}: Required value: {RUN_ON}"]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            {"shutdownAfterJobFinishes": value},
            f"spec.shutdownAfterJobFinishes: Required value: {WITHOUT}: the cluster keeps running "
            "after the job has ended: write true",
        )
        for value in (False, None, ...)
    ]
    + [
        (
            {"ttlSecondsAfterFinished": LIMIT + 1},
            f"spec.ttlSecondsAfterFinished: Invalid value: 601: {WITHOUT}: the cluster keeps "
            "running that long after the job has ended: write at most 600",
        ),
        ({"deletionPolicy": "DeleteNone"}, f"spec.deletionPolicy: {NO_STRATEGY}"),
        (
            {"deletionStrategy": {"deletionRules": []}},
            f"spec.deletionStrategy: {NO_STRATEGY}",
        ),
        (
            {"submitterPodTemplate": template(terminationGracePeriodSeconds=LIMIT + 1)},
            f"spec.submitterPodTemplate.spec.terminationGracePeriodSeconds: Invalid value: 601: "
            f"{WITHOUT}: a deleted pod may run that long: write at most 600",
        ),
    ],
)
def test_a_rayjob_that_leaves_its_pods_is_refused(spec: Any, says: str) -> None:
    assert refused(ray_job(**spec)) == [says]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"ttlSecondsAfterFinished": LIMIT},
        {"ttlSecondsAfterFinished": 0, "deletionStrategy": None},
        {"submitterPodTemplate": template()},  # Kueue counts it, and ends it
    ],
)
def test_a_rayjob_that_ends_them_is_free(spec: Any) -> None:
    assert refused(ray_job(**spec)) == []
    assert mutated(ray_job(**spec)) == ([], ())


def test_gpus_of_the_head_count_too() -> None:
    body = ray_job(CPU, ttlSecondsAfterFinished=3600)
    assert refused(body) == []
    body["spec"]["rayClusterSpec"]["headGroupSpec"]["template"] = template()
    assert len(refused(body)) == 1


def test_a_job_on_a_cluster_that_is_there_ends_none() -> None:
    """Kueue leaves it alone; what the pod that submits it uses is another rule's matter."""
    spec = {"shutdownAfterJobFinishes": ..., "rayClusterSpec": ...}
    body = ray_job(clusterSelector={"ray.io/cluster": "c"}, ttlSecondsAfterFinished=9999, **spec)
    assert refused(body) == []


def slow(seconds: Any, amounts: Any = GPU) -> dict[str, Any]:
    body = cleaned("Running")
    workers = template(amounts, terminationGracePeriodSeconds=seconds)
    body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = workers
    return body


def too_slow(path: str, seconds: object, most: int) -> str:
    return (
        f"{path}.spec.terminationGracePeriodSeconds: Invalid value: {seconds}: {WITHOUT}: a "
        f"deleted pod may run that long: write at most {most}"
    )


WORKER = "spec.pytorchReplicaSpecs.Worker.template"


def test_pods_end_within_the_operators_own_period() -> None:
    assert refused(slow(LIMIT)) == []
    assert refused(slow(LIMIT + 1)) == [too_slow(WORKER, LIMIT + 1, LIMIT)]
    assert refused(slow(31_536_000)) == [too_slow(WORKER, 31_536_000, LIMIT)]


def test_a_probe_asks_for_no_longer_grace_period_than_its_pod_may() -> None:
    """The kubelet's restart for a failed probe waits that long, and no deletion ends the wait."""
    for seconds in (LIMIT, LIMIT + 1):
        body = slow(LIMIT)
        spec = body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
        spec["containers"][0]["livenessProbe"] = {"terminationGracePeriodSeconds": seconds}
        probe = too_slow(f"{WORKER}.spec.containers[0].livenessProbe", seconds, LIMIT)
        expected = [probe.replace("livenessProbe.spec", "livenessProbe")]
        assert refused(body) == (expected if seconds > LIMIT else [])


def test_the_period_is_the_configured_one() -> None:
    """A pod gets 30 s that asks for nothing."""
    limits = FaultToleranceConfig(forceful_deletion_grace_period=timedelta(seconds=20))
    known = team_facts(fault_tolerance=limits)
    assert refused(slow(20), known) == []
    assert refused(slow(21), known) == [too_slow(WORKER, 21, 20)]
    assert refused(slow(None), known) == [too_slow(WORKER, "null", 20)]
    spec = {"ttlSecondsAfterFinished": 21}
    assert len(refused(ray_job(**spec), known)) == 2  # its workers ask for no period either


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob"])
def test_each_template_of_a_cluster_is_checked(kind: str) -> None:
    body = ray_job()
    cluster = body["spec"]["rayClusterSpec"]
    cluster["headGroupSpec"]["template"] = template(terminationGracePeriodSeconds=9999)
    cluster["workerGroupSpecs"][0]["template"] = template(terminationGracePeriodSeconds=8888)
    body = body if kind == "RayJob" else {**body, "kind": kind, "spec": cluster}
    start = "spec.rayClusterSpec" if kind == "RayJob" else "spec"
    assert refused(body) == [
        too_slow(f"{start}.headGroupSpec.template", 9999, LIMIT),
        too_slow(f"{start}.workerGroupSpecs[0].template", 8888, LIMIT),
    ]


FREE = [
    cleaned("None", CPU),
    training(CPU),
    slow(31_536_000, CPU),
    ray_job(CPU, shutdownAfterJobFinishes=..., deletionPolicy="DeleteNone"),
    ray_job(CPU, ttlSecondsAfterFinished=31_536_000, submitterPodTemplate=template(CPU)),
]


@pytest.mark.parametrize("body", FREE)
def test_a_template_without_counted_resources_is_allowed(body: Any) -> None:
    assert (mutated(body), refused(body)) == (([], ()), [])


@pytest.mark.parametrize(
    "body", [training(), cleaned("None"), slow(9999), ray_job(ttlSecondsAfterFinished=9999)]
)
@pytest.mark.parametrize("known", [{"is_platform": True}, {"is_team_namespace": False}])
def test_other_namespaces_are_not_checked(body: Any, known: Any) -> None:
    facts = replace(team_facts(), **known)
    assert (mutated(body, facts), refused(body, facts)) == (([], ()), [])


def test_resources_counted_by_configuration_are_checked() -> None:
    known = team_facts(counted_resources=("cpu",))
    assert mutated(training(CPU), known)[1] == (WARNING.replace("nvidia.com/gpu", "cpu"),)


def test_some_pod_templates_of_a_hostile_object_are_named() -> None:
    role = {"replicas": 1, "template": template(terminationGracePeriodSeconds=9999)}
    body = cleaned("Running")
    body["spec"]["pytorchReplicaSpecs"] = {f"r{index}": role for index in range(90)}
    verdict = chain.validate(asked(body), team_facts())
    assert isinstance(verdict, Denied)
    assert verdict.status["message"].count("a deleted pod") == 20
