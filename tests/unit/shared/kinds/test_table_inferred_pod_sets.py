import pytest

from shared.kinds.kind import PodSet, PodSetError, PodSetPathError
from shared.kinds.table import inferred_pod_sets

POD_TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
JOB_INDEX = {
    "workload.codeflare.dev.appwrapper/tas-pod-index-label": (
        "batch.kubernetes.io/job-completion-index"
    )
}
REPLICA_INDEX = {
    "workload.codeflare.dev.appwrapper/tas-pod-index-label": "training.kubeflow.org/replica-index"
}


def test_a_pod_is_one_pod_set_of_one() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", **POD_TEMPLATE}
    assert inferred_pod_sets(pod) == (PodSet("template", 1),)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize(
    ("spec", "replicas"),
    [({}, 1), ({"replicas": None}, 1), ({"replicas": 0}, 0), ({"replicas": 7}, 7)],
)
def test_deployment_and_stateful_set_have_their_replicas(
    kind: str, spec: dict[str, object], replicas: int
) -> None:
    template = {"apiVersion": "apps/v1", "kind": kind, "spec": {**spec, "template": POD_TEMPLATE}}
    assert inferred_pod_sets(template) == (PodSet("template.spec.template", replicas),)


def test_a_deployment_without_pod_template_is_refused() -> None:
    with pytest.raises(PodSetPathError) as error:
        inferred_pod_sets({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}})
    assert str(error.value) == (
        "the Deployment needs spec.template: template.spec has no field 'template'"
    )


@pytest.mark.parametrize("replicas", ["3", True, 3.0, [3]])
def test_replicas_that_are_no_integer_are_refused(replicas: object) -> None:
    template = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": replicas, "template": POD_TEMPLATE},
    }
    with pytest.raises(PodSetError) as error:
        inferred_pod_sets(template)
    assert str(error.value) == "template.spec.replicas must be an integer"


@pytest.mark.parametrize("replicas", [-1, 2**31])
def test_replicas_out_of_range_are_refused(replicas: int) -> None:
    template = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": replicas, "template": POD_TEMPLATE},
    }
    with pytest.raises(PodSetError) as error:
        inferred_pod_sets(template)
    assert str(error.value) == (
        f"template.spec.replicas is {replicas}: it must be from 0 to 2147483647"
    )


@pytest.mark.parametrize(
    ("counts", "pods"),
    [
        pytest.param({}, 1, id="neither"),
        pytest.param({"parallelism": 2, "completions": 4}, 2, id="fewer at once"),
        pytest.param({"parallelism": 8, "completions": 4}, 4, id="fewer in all"),
        pytest.param({"parallelism": 3}, 3, id="parallelism alone"),
        pytest.param({"completions": 5}, 1, id="completions alone"),
    ],
)
def test_a_job_has_as_many_pods_as_run_at_once(counts: dict[str, object], pods: int) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {**counts, "template": POD_TEMPLATE}}
    assert inferred_pod_sets(job) == (PodSet("template.spec.template", pods, JOB_INDEX),)


def test_a_job_without_pod_template_is_refused() -> None:
    with pytest.raises(PodSetPathError) as error:
        inferred_pod_sets({"apiVersion": "batch/v1", "kind": "Job", "spec": {}})
    assert str(error.value) == (
        "the Job needs spec.template: template.spec has no field 'template'"
    )


def test_a_job_set_has_one_pod_set_per_replicated_job() -> None:
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {
            "replicatedJobs": [
                {
                    "replicas": 3,
                    "template": {
                        "spec": {"parallelism": 4, "completions": 2, "template": POD_TEMPLATE}
                    },
                },
                {"template": {"spec": {"template": POD_TEMPLATE}}},
            ]
        },
    }
    assert inferred_pod_sets(job_set) == (
        PodSet(
            "template.spec.replicatedJobs[0].template.spec.template",
            6,
            {
                **JOB_INDEX,
                "workload.codeflare.dev.appwrapper/tas-sub-group-index-label": (
                    "jobset.sigs.k8s.io/job-index"
                ),
                "workload.codeflare.dev.appwrapper/tas-sub-group-count": "3",
            },
        ),
        PodSet(
            "template.spec.replicatedJobs[1].template.spec.template",
            1,
            {
                **JOB_INDEX,
                "workload.codeflare.dev.appwrapper/tas-sub-group-index-label": (
                    "jobset.sigs.k8s.io/job-index"
                ),
                "workload.codeflare.dev.appwrapper/tas-sub-group-count": "1",
            },
        ),
    )


def test_a_pytorch_job_has_its_master_first_whatever_the_order() -> None:
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "spec": {
            "pytorchReplicaSpecs": {
                "Worker": {"replicas": 3, "template": POD_TEMPLATE},
                "Master": {"template": POD_TEMPLATE},
            }
        },
    }
    assert inferred_pod_sets(job) == (
        PodSet("template.spec.pytorchReplicaSpecs.Master.template", 1, REPLICA_INDEX),
        PodSet("template.spec.pytorchReplicaSpecs.Worker.template", 3, REPLICA_INDEX),
    )


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [("RayCluster", "template.spec"), ("RayJob", "template.spec.rayClusterSpec")],
)
def test_ray_has_a_head_and_its_worker_groups(kind: str, prefix: str) -> None:
    cluster = {
        "headGroupSpec": {"template": POD_TEMPLATE},
        "workerGroupSpecs": [
            {"replicas": 2, "numOfHosts": 4, "template": POD_TEMPLATE},
            {"template": POD_TEMPLATE},
        ],
    }
    spec = cluster if kind == "RayCluster" else {"rayClusterSpec": cluster}
    assert inferred_pod_sets({"apiVersion": "ray.io/v1", "kind": kind, "spec": spec}) == (
        PodSet(f"{prefix}.headGroupSpec.template", 1),
        PodSet(f"{prefix}.workerGroupSpecs[0].template", 2),
        PodSet(f"{prefix}.workerGroupSpecs[1].template", 1),
    )


def test_a_ray_cluster_without_head_is_refused() -> None:
    with pytest.raises(PodSetPathError) as error:
        inferred_pod_sets({"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {}})
    assert str(error.value) == (
        "the RayCluster needs spec.headGroupSpec.template: "
        "template.spec has no field 'headGroupSpec'"
    )


@pytest.mark.parametrize(
    "template",
    [
        {"apiVersion": "v1", "kind": "Service"},
        {"apiVersion": "batch/v1beta1", "kind": "Job"},
        {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob"},
        {"apiVersion": 1, "kind": ["Pod"]},
        {},
    ],
)
def test_other_kinds_are_not_known(template: dict[str, object]) -> None:
    assert inferred_pod_sets(template) is None


def test_the_core_group_may_be_written_with_a_slash() -> None:
    """As the API server and Kueue read it."""
    assert inferred_pod_sets({"apiVersion": "/v1", "kind": "Pod", **POD_TEMPLATE}) == (
        PodSet("template", 1),
    )
    for malformed in ("//v1", "/batch/v1", "v1/"):
        assert inferred_pod_sets({"apiVersion": malformed, "kind": "Pod", **POD_TEMPLATE}) is None
