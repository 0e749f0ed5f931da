from typing import Any

import pytest

from controller.facts.kept_components import asks_to_be_kept, is_kept

KEEP = {"workload.codeflare.dev.appwrapper/keep": "true"}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}
LEADER_WORKER_SET = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {}}}},
}


def component(template: Any, annotations: Any = KEEP, **fields: Any) -> dict[str, Any]:
    return {"template": template, "annotations": annotations, **fields}


def test_a_component_without_pods_that_asks_for_it() -> None:
    assert is_kept(component(CONFIG_MAP))


@pytest.mark.parametrize(
    "made",
    [
        component(CONFIG_MAP, None),
        component(CONFIG_MAP, {"workload.codeflare.dev.appwrapper/keep": "True"}),
        component(POD),
        component(LEADER_WORKER_SET),
        component(CONFIG_MAP, podSets=[{"path": "template"}]),
        component({"apiVersion": "batch/v1", "kind": "Job"}),
        component("x"),
    ],
    ids=["silent", "not true", "a pod", "makes pods", "declares pods", "unknown pods", "no object"],
)
def test_other_annotations_keep_no_component(made: dict[str, Any]) -> None:
    assert not is_kept(made)


def test_a_kept_component_with_pods_is_not_kept() -> None:
    assert asks_to_be_kept(component(POD))
