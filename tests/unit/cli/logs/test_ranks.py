"""The ranks of pods: the spec's order, and the index that a Kind's own controller gives."""

from typing import Any

import pytest

from cli.logs.ranks import pod_ranks
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from tests.support.builders.operated_kinds import runtime_job, train_job, training_runtime
from tests.support.manifests import SAMPLES, document

COMPONENT = "workload.codeflare.dev/component"
UID = "workload.codeflare.dev/uid"
ROLE, INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"
COMPLETION = "batch.kubernetes.io/job-completion-index"
POD_SPEC = {"spec": {"containers": [{"name": "main"}]}}


def wrapped(*components: JsonObject) -> AppWrapper:
    metadata = {"namespace": "team1", "name": "train", "uid": "u"}
    return AppWrapper({"metadata": metadata, "spec": {"components": list(components)}})


def labelled(component: int | None, labels: dict[str, str]) -> JsonObject:
    own = {} if component is None else {COMPONENT: f"{component}", UID: "u"}
    return {"metadata": {"name": "p", "labels": own | labels}}


def pod_with(component: int) -> JsonObject:
    return labelled(component, {})


def py_torch_job(workers: int = 3, *, master: bool = True) -> JsonObject:
    specs: dict[str, Any] = {"Worker": {"replicas": workers, "template": POD_SPEC}}
    if master:
        specs["Master"] = {"template": POD_SPEC}
    return {
        "template": {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "t"},
            "spec": {"pytorchReplicaSpecs": specs},
        }
    }


def plain_pod(**component: Any) -> JsonObject:
    return {"template": {"apiVersion": "v1", "kind": "Pod", **POD_SPEC}, **component}


def job(parallelism: int) -> JsonObject:
    spec = {"parallelism": parallelism, "template": POD_SPEC}
    return {"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}}


def test_the_pods_of_a_train_job_are_numbered_by_its_runtime() -> None:
    runtime = training_runtime(
        "t", runtime_job("data"), runtime_job("node", step="trainer"), nodes=3
    )
    whole = wrapped(plain_pod(), {"template": runtime}, {"template": train_job("t")})
    ranks = pod_ranks(whole)
    assert ranks.expected == 5
    name = "jobset.sigs.k8s.io/replicatedjob-name"
    job_index = "jobset.sigs.k8s.io/job-index"
    found = labelled(2, {name: "node", COMPLETION: "2", job_index: "0"})
    assert ranks.of(found) == 4
    assert ranks.of(labelled(1, {name: "node", COMPLETION: "2", job_index: "0"})) is None


def test_the_pods_of_a_train_job_that_helps_have_no_rank() -> None:
    runtime = {"template": training_runtime("t", runtime_job("node"))}
    helps = {"workload.codeflare.dev.appwrapper/helper": "true"}
    whole = wrapped(runtime, {"template": train_job("t"), "annotations": helps}, plain_pod())
    assert pod_ranks(whole).expected == 1


@pytest.mark.parametrize(
    ("role", "index", "rank"),
    [("master", "0", 0), ("worker", "0", 1), ("worker", "2", 3), ("Worker", "1", 2)],
)
def test_the_master_is_rank_0_and_the_workers_follow(role: str, index: str, rank: int) -> None:
    ranks = pod_ranks(wrapped(py_torch_job()))
    assert ranks.of(labelled(0, {ROLE: role, INDEX: index})) == rank
    assert ranks.expected == 4


def test_workers_without_a_master_begin_at_0() -> None:
    ranks = pod_ranks(wrapped(py_torch_job(2, master=False)))
    assert ranks.of(labelled(0, {ROLE: "worker", INDEX: "1"})) == 1


def test_the_index_of_a_job_is_its_rank_and_pods_of_later_components_follow() -> None:
    ranks = pod_ranks(wrapped(job(4), plain_pod(), job(2)))
    assert ranks.of(labelled(0, {COMPLETION: "3"})) == 3
    assert ranks.of(pod_with(1)) == 4
    assert ranks.of(labelled(2, {COMPLETION: "1"})) == 6
    assert ranks.expected == 7


def test_a_pod_without_an_index_among_several_has_no_rank() -> None:
    ranks = pod_ranks(wrapped(job(4)))
    assert ranks.of(pod_with(0)) is None
    assert ranks.of(labelled(0, {COMPLETION: "x"})) is None
    assert pod_ranks(wrapped(job(1))).of(pod_with(0)) == 0


def test_helpers_have_no_rank_and_take_none() -> None:
    helper = plain_pod(annotations={"workload.codeflare.dev.appwrapper/helper": "true"})
    ranks = pod_ranks(wrapped(helper, job(2)))
    assert ranks.of(pod_with(0)) is None
    assert ranks.of(labelled(1, {COMPLETION: "0"})) == 0


def test_a_pod_of_the_go_operator_is_of_the_only_component_with_pods() -> None:
    assert pod_ranks(wrapped(job(2))).of(labelled(None, {COMPLETION: "1"})) == 1
    assert pod_ranks(wrapped(job(2), job(2))).of(labelled(None, {COMPLETION: "1"})) is None


def test_the_jobs_of_a_job_set_are_numbered_one_after_the_other() -> None:
    replicated = [
        {"name": "driver", "replicas": 1, "template": {"spec": {"template": POD_SPEC}}},
        {
            "name": "workers",
            "replicas": 2,
            "template": {"spec": {"parallelism": 3, "completions": 3, "template": POD_SPEC}},
        },
    ]
    template = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {"replicatedJobs": replicated},
    }
    ranks = pod_ranks(wrapped({"template": template}))

    def rank(job_name: str, job_index: str, index: str) -> int | None:
        labels = {
            "jobset.sigs.k8s.io/replicatedjob-name": job_name,
            "jobset.sigs.k8s.io/job-index": job_index,
            COMPLETION: index,
        }
        return ranks.of(labelled(0, labels))

    assert rank("driver", "0", "0") == 0
    assert [rank("workers", "1", each) for each in "012"] == [4, 5, 6]
    assert rank("workers", "x", "0") is None


def test_pods_of_a_kind_without_index_have_none() -> None:
    for name in ("raycluster", "leaderworkerset", "mpijob"):
        item = document(SAMPLES / "kinds" / f"{name}.yaml")
        item["metadata"] |= {"namespace": "team1", "uid": "u"}
        assert pod_ranks(AppWrapper(item)).of(pod_with(0)) is None, name


def test_an_unreadable_component_has_no_ranks() -> None:
    broken = {"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {}}}
    assert pod_ranks(wrapped(broken, job(1))).of(pod_with(1)) == 0
