"""The same values make a TrainJob: the pods differ from a PyTorchJob's in what Trainer needs."""

import copy

import jsonpatch
import pytest

from cli.generation.generator import RefusedValues, generate
from shared.api.objects import JsonObject
from tests.support.builders.admission import errors_of, patch_of, queued

VALUES = """\
jobName: j
containerImage: i
mainProgram: t.py
numPods: 4
numGpusPerPod: 8
customLabels: {a: b}
restartPolicy: OnFailure
"""
VARIABLES = """\
# Kubeflow Trainer's variables, under the names of the Training Operator.
export RANK="${PET_NODE_RANK}" WORLD_SIZE="${PET_NNODES}"
export MASTER_ADDR="${PET_MASTER_ADDR}" MASTER_PORT="${PET_MASTER_PORT}"
"""


def made(text: str = VALUES, *, trainer: bool = True) -> JsonObject:
    return generate([("f", text)], [], trainer=trainer).appwrapper


def templates(appwrapper: JsonObject) -> list[JsonObject]:
    return [each["template"] for each in appwrapper["spec"]["components"]]


def test_the_components_whole() -> None:
    runtime, train_job = templates(made())
    [job] = runtime["spec"]["template"]["spec"].pop("replicatedJobs")
    job["template"]["spec"].pop("template")
    api = "trainer.kubeflow.org/v1alpha1"
    named = {"name": "j", "labels": {"a": "b"}}
    assert runtime == {
        "apiVersion": api,
        "kind": "TrainingRuntime",
        "metadata": named,
        "spec": {"mlPolicy": {"numNodes": 4, "torch": {}}, "template": {"spec": {}}},
    }
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    assert job == {
        "name": "node",
        "template": {"metadata": {"labels": labels}, "spec": {"backoffLimit": 0}},
    }
    ref = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "j"}
    trainer = {"numNodes": 4, "numProcPerNode": 8}
    assert train_job == {
        "apiVersion": api,
        "kind": "TrainJob",
        "metadata": named,
        "spec": {"runtimeRef": ref, "trainer": trainer},
    }


def test_the_pods_are_those_of_the_pytorch_job() -> None:
    runtime, _train_job = templates(made())
    [job] = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    [other] = templates(made(trainer=False))
    expected = copy.deepcopy(other["spec"]["pytorchReplicaSpecs"]["Worker"]["template"])
    [container] = expected["spec"]["containers"]
    container["name"] = "node"
    container["command"][2] = VARIABLES + container["command"][2]
    expected["spec"]["restartPolicy"] = "OnFailure"
    assert job["template"]["spec"]["template"] == expected


def test_everything_beside_the_components_is_the_same() -> None:
    one, other = made(), made(trainer=False)
    assert one | {"spec": {}} == other | {"spec": {}}


def test_without_gpus_each_pod_has_one_process() -> None:
    _runtime, train_job = templates(made(VALUES.replace("8", "0")))
    assert train_job["spec"]["trainer"] == {"numNodes": 4, "numProcPerNode": 1}


def test_the_webhook_admits_it() -> None:
    whole = queued(*made()["spec"]["components"])
    stored: JsonObject = jsonpatch.apply_patch(whole, patch_of(whole))
    assert errors_of(stored) == []


def test_containers_that_always_restart_are_refused() -> None:
    text = VALUES.replace("OnFailure", "Always")
    assert templates(made(text, trainer=False))
    with pytest.raises(RefusedValues) as raised:
        made(text)
    assert str(raised.value) == (
        "f:7: restartPolicy: Invalid value: Always: the pods of a TrainJob may only have Never or "
        "OnFailure"
    )
