"""The TrainJob makes the pods that Kueue counts in the TrainingRuntime before it."""

from typing import Any

import pytest

from controller.facts.component_status import made_pod_sets

SETS = [{"path": "template.spec", "replicas": 2}]
OWN = [{"path": "template.own"}]
TRAINER, BATCH = "trainer.kubeflow.org/v1alpha1", "batch/v1"


def entry(kind: str, version: str = TRAINER, sets: Any = ()) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": version, "podSets": list(sets)}


RUNTIME, TRAIN_JOB = entry("TrainingRuntime", sets=SETS), entry("TrainJob")
JOB = entry("Job", BATCH, SETS)


@pytest.mark.parametrize(
    ("entries", "made"),
    [
        ([JOB], [SETS]),
        ([JOB, JOB], [SETS, SETS]),
        ([RUNTIME, TRAIN_JOB], [[], SETS]),
        ([JOB, RUNTIME, TRAIN_JOB, TRAIN_JOB], [SETS, [], SETS, []]),
        ([RUNTIME, entry("TrainJob", sets=OWN)], [[], SETS + OWN]),
        ([RUNTIME, JOB], [[], SETS]),
        ([RUNTIME], [[]]),
        ([{}, TRAIN_JOB], [[], []]),
    ],
)
def test_the_pod_sets_whose_pods_each_component_makes(entries: list[Any], made: list[Any]) -> None:
    assert [made_pod_sets(entries, index) for index in range(len(entries))] == made
