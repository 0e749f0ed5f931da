from typing import Any

import pytest

from tests.support.builders.admission import POD, SERVICE, appwrapper, component, warnings_of
from tests.support.builders.annotations import prefixed

PODS = {"spec": POD["spec"]}
ENDLESS: dict[str, dict[str, Any]] = {
    "Deployment": {"apiVersion": "apps/v1", "spec": {"template": PODS}},
    "StatefulSet": {"apiVersion": "apps/v1", "spec": {"template": PODS}},
    "LeaderWorkerSet": {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "spec": {"leaderWorkerTemplate": {"size": 1, "workerTemplate": PODS}},
    },
    "RayCluster": {"apiVersion": "ray.io/v1", "spec": {"headGroupSpec": {"template": PODS}}},
}
DECLARED = {"LeaderWorkerSet": [{"path": "template.spec.leaderWorkerTemplate.workerTemplate"}]}
HELPER = prefixed(helper="true")


def endless(kind: str, **fields: Any) -> dict[str, Any]:
    template = {"kind": kind, "metadata": {"name": "x"}, **ENDLESS[kind]}
    pod_sets = {"podSets": DECLARED[kind]} if kind in DECLARED else {}
    return component(template, **pod_sets, **fields)


def warning(index: int, kind: str) -> str:
    return (
        f"spec.components[{index}]: a {kind} never completes, so the AppWrapper will never "
        "succeed; if it only serves the others, annotate the component "
        'workload.codeflare.dev.appwrapper/helper: "true"'
    )


@pytest.mark.parametrize("kind", ENDLESS)
def test_beside_what_completes(kind: str) -> None:
    assert warnings_of(appwrapper(component(), endless(kind))) == [warning(1, kind)]
    assert warnings_of(appwrapper(component(), endless(kind, annotations=HELPER))) == []


@pytest.mark.parametrize("kind", ENDLESS)
def test_alone_an_endless_component_causes_no_warning(kind: str) -> None:
    assert warnings_of(appwrapper(endless(kind), component(SERVICE))) == []
    assert warnings_of(appwrapper(endless(kind), component(POD, annotations=HELPER))) == []


def test_each_of_several_endless_components_is_named() -> None:
    made = appwrapper(endless("RayCluster"), component(), endless("Deployment"))
    assert warnings_of(made) == [warning(0, "RayCluster"), warning(2, "Deployment")]


def test_a_component_without_pods_causes_no_warning() -> None:
    bare = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {}}
    assert warnings_of(appwrapper(component(), component(bare))) == []
