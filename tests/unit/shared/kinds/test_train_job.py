"""The pods of a TrainJob are counted in its runtime, as Kubeflow Trainer 2.3.0 makes them."""

import copy
import json
from typing import Any

import pytest

from shared.api.conditions import NO_PROGRESS, Progress, Terminal
from shared.api.names import ANNOTATION_RUNTIME_JOBS
from shared.api.objects import JsonObject
from shared.kinds.kind import PodSetError
from shared.kinds.table import pod_sets_to_declare
from shared.kinds.train_job import (
    TRAIN_JOB,
    jobs_of,
    progress,
    report,
    runtime_ref,
    with_overrides,
)
from tests.support.builders.operated_kinds import runtime_job, train_job, training_runtime

JOBS = "template.spec.template.spec.replicatedJobs"


def trains(**fields: Any) -> JsonObject:
    return runtime_job("node", step="trainer", **fields)


def of_parallelism(job: JsonObject, pods: int) -> JsonObject:
    job["template"]["spec"]["parallelism"] = pods
    return job


def counted(runtime: JsonObject) -> list[int]:
    return [each.replicas for each in pod_sets_to_declare(runtime) or ()]


def test_each_job_of_the_runtime_is_a_pod_set() -> None:
    data = of_parallelism(runtime_job("data", replicas=2), 3)
    found = pod_sets_to_declare(training_runtime("t", data, trains(), nodes=4))
    assert found is not None
    assert [(each.path, each.replicas) for each in found] == [
        (f"{JOBS}[0].template.spec.template", 6),
        (f"{JOBS}[1].template.spec.template", 4),
    ]
    prefix = "workload.codeflare.dev.appwrapper/tas-"
    assert found[0].annotations == {
        f"{prefix}pod-index-label": "batch.kubernetes.io/job-completion-index",
        f"{prefix}sub-group-index-label": "jobset.sigs.k8s.io/job-index",
        f"{prefix}sub-group-count": "2",
    }


def test_a_train_job_has_no_pod_sets_of_its_own() -> None:
    assert pod_sets_to_declare(train_job("t")) == ()


@pytest.mark.parametrize(("policy", "pods"), [({}, 1), ({"numNodes": 0}, 1), (None, 5)])
def test_without_a_number_of_nodes_there_is_one_and_without_a_policy_the_job_decides(
    policy: Any, pods: int
) -> None:
    runtime = training_runtime("t", of_parallelism(trains(), 5))
    runtime["spec"]["mlPolicy"] = policy
    assert counted(runtime) == [pods]


@pytest.mark.parametrize("policy", ["x", [], {"numNodes": -1}, {"numNodes": "2"}])
def test_a_policy_that_cannot_be_read_is_refused(policy: Any) -> None:
    runtime = training_runtime("t", trains())
    runtime["spec"]["mlPolicy"] = policy
    with pytest.raises(PodSetError):
        pod_sets_to_declare(runtime)


# Overrides.


def overridden(runtime: JsonObject, **trainer: Any) -> JsonObject:
    before = copy.deepcopy(runtime)
    job = train_job("t", trainer=trainer)
    made = with_overrides(runtime, job)
    assert runtime == before
    assert with_overrides(made, job) == made
    return made


def test_nothing_is_overridden_without_a_trainer() -> None:
    runtime = training_runtime("t", trains())
    assert with_overrides(runtime, train_job("t")) == runtime
    assert overridden(runtime, image="i", command=["a"], numProcPerNode=2) == runtime


def test_num_nodes_is_that_of_the_policy() -> None:
    data = of_parallelism(runtime_job("data"), 3)
    made = overridden(training_runtime("t", data, trains(), nodes=1), numNodes=8)
    assert made["spec"]["mlPolicy"] == {"numNodes": 8}
    assert counted(made) == [3, 8]


def test_without_a_policy_num_nodes_is_the_parallelism() -> None:
    runtime = training_runtime("t", trains())
    runtime["spec"]["mlPolicy"] = None
    assert counted(overridden(runtime, numNodes=8)) == [8]


@pytest.mark.parametrize(("as_node", "pods"), [(False, [1, 8]), (True, [1, 7])])
def test_with_mpi_num_nodes_is_about_the_job_of_the_nodes(as_node: bool, pods: list[int]) -> None:
    launcher = runtime_job("launcher", step="trainer")
    runtime = training_runtime("t", launcher, runtime_job("node"))
    runtime["spec"]["mlPolicy"]["mpi"] = {"runLauncherAsNode": as_node}
    assert counted(overridden(runtime, numNodes=8)) == pods


def test_a_runtime_that_trains_nothing_has_no_nodes() -> None:
    runtime = training_runtime("t", runtime_job("data"))
    assert overridden(runtime, numNodes=8) == runtime


@pytest.mark.parametrize(
    ("trainer", "problem"),
    [
        ({"numNodes": 0}, "numNodes is 0, but a TrainJob has at least one node"),
        ({"numNodes": -1}, "numNodes is -1: it must be from 0 to 2147483647"),
        ({"numNodes": "2"}, "numNodes must be an integer"),
        ({"resourcesPerNode": []}, "resourcesPerNode is an array, not an object"),
        ({"resourcesPerNode": {"limits": 1}}, "resourcesPerNode.limits is a number, not an object"),
        (
            {"resourcesPerNode": {"claims": [{"name": "gpu"}]}},
            "resourcesPerNode.claims is not counted: leave it out",
        ),
    ],
)
def test_an_override_of_unknown_effect_is_refused(trainer: JsonObject, problem: str) -> None:
    with pytest.raises(PodSetError) as raised:
        overridden(training_runtime("t", trains()), **trainer)
    assert str(raised.value) == f"template.spec.trainer.{problem}"


def test_num_nodes_of_two_jobs_that_train_is_refused() -> None:
    with pytest.raises(PodSetError) as raised:
        overridden(training_runtime("t", trains(), trains()), numNodes=2)
    assert str(raised.value) == (
        "template.spec.trainer.numNodes: 2 Jobs of the runtime are of the step trainer"
    )


def resources_of(runtime: JsonObject, job: int = 0) -> list[Any]:
    [*_, made] = [runtime["spec"]["template"]["spec"]["replicatedJobs"][job]]
    containers = made["template"]["spec"]["template"]["spec"]["containers"]
    return [each.get("resources") for each in containers]


def test_resources_are_merged_by_name_into_the_container_node() -> None:
    job = trains()
    containers = job["template"]["spec"]["template"]["spec"]["containers"]
    containers[0]["resources"] = {"requests": {"cpu": 1, "memory": "1Gi"}}
    containers.insert(0, {"name": "sidecar"})
    data = runtime_job("data")
    made = overridden(
        training_runtime("t", job, data),
        resourcesPerNode={"requests": {"cpu": 2}, "limits": {"nvidia.com/gpu": 8}},
    )
    assert resources_of(made) == [
        None,
        {"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"nvidia.com/gpu": 8}},
    ]
    assert resources_of(made, 1) == [None]


def test_without_a_policy_the_resources_are_not_overridden() -> None:
    runtime = training_runtime("t", trains())
    runtime["spec"]["mlPolicy"] = None
    assert resources_of(overridden(runtime, resourcesPerNode={"limits": {"cpu": 1}})) == [None]


@pytest.mark.parametrize("as_node", [False, True])
def test_the_nodes_of_mpi_have_the_resources_only_if_the_launcher_is_one(as_node: bool) -> None:
    node = runtime_job("node")
    node["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "node"
    runtime = training_runtime("t", runtime_job("launcher", step="trainer"), node)
    runtime["spec"]["mlPolicy"]["mpi"] = {"runLauncherAsNode": as_node}
    made = overridden(runtime, resourcesPerNode={"limits": {"cpu": 1}})
    wanted = {"limits": {"cpu": 1}}
    assert resources_of(made) == [wanted]
    assert resources_of(made, 1) == [wanted if as_node else None]


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ({"name": "a"}, ("ClusterTrainingRuntime", "a")),
        ({"name": "a", "kind": "TrainingRuntime"}, ("TrainingRuntime", "a")),
        ({"name": "a", "kind": "TrainingRuntime", "apiGroup": "other"}, ("", "a")),
        ({"name": 1, "kind": 2}, ("", "")),
        (None, ("ClusterTrainingRuntime", "")),
        ("x", ("ClusterTrainingRuntime", "")),
    ],
)
def test_the_runtime_that_it_names(ref: Any, expected: tuple[str, str]) -> None:
    job = train_job("t")
    job["spec"]["runtimeRef"] = ref
    assert runtime_ref(job) == expected


# What the status reports.


def reported(runtime: JsonObject | None, *jobs: JsonObject, **spec: Any) -> Progress:
    item = train_job("t", **spec)
    item["status"] = {"jobsStatus": list(jobs)}
    if runtime is not None:
        item["metadata"]["annotations"] = {ANNOTATION_RUNTIME_JOBS: jobs_of(runtime)}
    return progress(item)


DATA = of_parallelism(runtime_job("data"), 2)
WAITS = trains(dependsOn=[{"name": "data", "status": "Complete"}])


def test_jobs_that_wait_for_others_are_not_missed() -> None:
    runtime = training_runtime("t", DATA, WAITS, nodes=4)
    assert reported(runtime).wanted == 2
    done = {"name": "data", "succeeded": 1}
    assert reported(runtime, done) == Progress(2, wanted=6, by_owner=(("t-data-", 1, 2),))


def test_jobs_in_order_are_not_missed() -> None:
    in_order = {"startupPolicyOrder": "InOrder"}
    runtime = training_runtime("t", DATA, trains(), nodes=4, startupPolicy=in_order)
    assert reported(runtime).wanted == 2
    assert reported(runtime, {"name": "data", "ready": 1}).wanted == 6


def test_all_pods_are_wanted_at_once_without_an_order_and_none_while_suspended() -> None:
    runtime = training_runtime("t", DATA, trains(), nodes=4)
    assert reported(runtime) == NO_PROGRESS
    assert reported(runtime, suspend=True).wanted == 0
    assert reported(None) == NO_PROGRESS
    assert reported(None, suspend=True).wanted == 0


@pytest.mark.parametrize(
    "text",
    ["", "x", "[]", "1", "{}", '{"jobs": 1}', '{"jobs": [1]}', '{"jobs": [{}]}']
    + [json.dumps({"jobs": [{"name": "a", "dependsOn": each}]}) for each in (1, [1], "x")]
    + [
        json.dumps({"jobs": [], "startupPolicy": 1}),
        json.dumps({"jobs": [{"name": [], "pods": 1}]}),
    ],
)
def test_an_annotation_that_a_user_spoilt_counts_as_none(text: str) -> None:
    item = train_job("t")
    item["metadata"]["annotations"] = {ANNOTATION_RUNTIME_JOBS: text}
    assert progress(item).succeeded == 0


@pytest.mark.parametrize(
    ("conditions", "terminal", "message"),
    [
        ([], None, ""),
        ([{"type": "Suspended", "status": "True", "message": "m"}], None, "Suspended: m"),
        ([{"type": "Complete", "status": "True"}], Terminal.SUCCEEDED, ""),
        (
            [{"type": "Failed", "status": "True", "reason": "FailedJobs", "message": "m"}],
            Terminal.FAILED,
            "FailedJobs: m",
        ),
    ],
)
def test_its_report(conditions: list[Any], terminal: Terminal | None, message: str) -> None:
    found = report({"status": {"conditions": conditions}})
    assert (found.terminal, found.message) == (terminal, message)


def test_its_patches_can_label_pods() -> None:
    metadata = {"labels": {"a": "b"}}
    jobs = {"replicatedJobs": [{"name": "x"}, {"template": {"spec": {"template": metadata}}}]}
    patch = {"manager": "m", "trainingRuntimeSpec": {"template": {"spec": jobs}}}
    paths = list(TRAIN_JOB.pod_labels(train_job("t", runtimePatches=[{"manager": "n"}, patch])))
    here = "template.spec.runtimePatches[1].trainingRuntimeSpec.template.spec.replicatedJobs"
    assert paths == [
        f"{here}[{index}].template.spec.template.metadata.labels" for index in range(2)
    ]
