"""`pack` copies the runtime of a TrainJob into the AppWrapper, where Kueue counts its pods."""

import json

import pytest
import yaml

from shared.api.objects import JsonObject
from tests.support.builders.operated_kinds import runtime_job, train_job, training_runtime
from tests.support.command import appwrapper

API = "trainer.kubeflow.org/v1alpha1"


def cluster_runtime(name: str) -> JsonObject:
    made = training_runtime(name, runtime_job("node", step="trainer"))
    made["kind"] = "ClusterTrainingRuntime"
    made["metadata"] = {"name": name, "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}}
    return made


def on(runtime: str, name: str = "mnist", **trainer: object) -> JsonObject:
    made = train_job(name, trainer=trainer)
    made["spec"]["runtimeRef"] = {"name": runtime}
    return made


def packed(*objects: JsonObject) -> list[JsonObject]:
    ended = appwrapper("pack", stdin="\n---\n".join(map(yaml.safe_dump, objects)))
    assert ended.code == 0, ended.err
    return [each["template"] for each in yaml.safe_load(ended.out)["spec"]["components"]]


def test_a_copy_of_the_runtime_with_the_overrides_is_before_the_train_job() -> None:
    own = on("torch", numNodes=4, resourcesPerNode={"limits": {"cpu": 2}}, command=["train"])
    runtime, made = packed(own, cluster_runtime("torch"))
    assert (runtime["apiVersion"], runtime["kind"]) == (API, "TrainingRuntime")
    assert runtime["metadata"] == {"name": "mnist", "labels": {"a": "b"}}
    assert runtime["spec"]["mlPolicy"] == {"numNodes": 4}
    [job] = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    [container] = job["template"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"limits": {"cpu": 2}}
    ref = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "mnist"}
    assert made == {**own, "spec": {**own["spec"], "runtimeRef": ref}}


def test_each_train_job_has_a_copy_of_its_own() -> None:
    made = packed(cluster_runtime("torch"), on("torch", "a"), on("torch", "b", numNodes=2))
    assert [(each["kind"], each["metadata"]["name"]) for each in made] == [
        ("TrainingRuntime", "a"),
        ("TrainJob", "a"),
        ("TrainingRuntime", "b"),
        ("TrainJob", "b"),
    ]


def test_components_that_are_complete_stay_as_they_are() -> None:
    runtime = training_runtime("mnist", runtime_job("node", step="trainer"), nodes=2)
    runtime["metadata"]["annotations"] = {"a": "b"}
    own = train_job("mnist", trainer={"numNodes": 2})
    assert packed(runtime, own) == [runtime, own]


def refused(*objects: JsonObject) -> str:
    ended = appwrapper("pack", stdin="\n".join(map(json.dumps, objects)))
    assert ended.code == 1, ended
    return ended.err


def test_a_runtime_that_is_not_given_is_named_with_the_command_that_adds_it() -> None:
    assert refused(on("torch")) == (
        "error: standard input:1: TrainJob/mnist takes its pods from the ClusterTrainingRuntime "
        "torch, which is not among the objects. Add it: "
        "kubectl get clustertrainingruntime torch -o yaml | appwrapper pack - FILE\n"
    )


def test_a_train_job_needs_a_name() -> None:
    own = on("torch")
    own["metadata"] = {"generateName": "mnist-"}
    assert "this TrainJob has no name, which its runtime gets too" in refused(
        own, cluster_runtime("torch")
    )


@pytest.mark.parametrize("trainer", [{"numNodes": 0}, {"resourcesPerNode": {"claims": []}}])
def test_an_override_of_unknown_effect_is_refused(trainer: JsonObject) -> None:
    assert "template.spec.trainer." in refused(on("torch", **trainer), cluster_runtime("torch"))


def test_a_runtime_that_nothing_uses_is_refused_by_the_webhooks_rules() -> None:
    assert "trainer.kubeflow.org/ClusterTrainingRuntime may not be wrapped" in refused(
        cluster_runtime("torch"), cluster_runtime("other"), on("torch")
    )
