"""What the controller remembers of an AppWrapper: small, and all that decisions read."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given

from controller.facts.appwrapper_outline import (
    component_texts,
    outlined,
    project_appwrapper,
    requested,
)
from controller.facts.component_status import fixed_name, named, recorded_pod_sets
from controller.facts.kept_components import asks_to_be_kept, is_kept, may_have_pods
from shared.api.appwrapper import AppWrapper
from shared.api.objects import GroupVersionKind, JsonObject
from tests.support.builders import wrapped_kinds as kinds
from tests.support.builders.arbitrary import components, json_values

GPU = "nvidia.com/gpu"
KEEP = {"workload.codeflare.dev.appwrapper/keep": "true"}
METADATA = {"namespace": "team1", "name": "train", "uid": "u1", "resourceVersion": "7"}


def whole(*wrapped: Any, **more: Any) -> dict[str, Any]:
    spec = {"suspend": True, "components": [{"template": each} for each in wrapped]}
    return {"metadata": METADATA, "spec": spec, "status": {"phase": "Suspended"}, **more}


EVERY_KIND: dict[str, JsonObject] = {
    "Pod": kinds.pod(8),
    "PyTorchJob": kinds.pytorch_job(Master=kinds.template(), Worker=kinds.template(8)),
    "RayCluster": kinds.kind("ray.io/v1", "RayCluster", **kinds.ray(8)),
    "RayJob": kinds.kind("ray.io/v1", "RayJob", rayClusterSpec=kinds.ray(8)),
    "Deployment": kinds.DEPLOYMENT,
    "Job": kinds.kind("batch/v1", "Job", parallelism=2, template=kinds.template(8)),
    "JobSet": kinds.JOB_SET,
    "LeaderWorkerSet": kinds.LEADER_WORKER_SET,
    "MPIJob": kinds.mpi_job("v1"),
    "Service": kinds.SERVICE,
    "of an unknown Kind": kinds.kind("example.org/v1", "Widget", replicas=3),
    "Job without its pod template": kinds.kind("batch/v1", "Job"),
    "Job of no number": kinds.kind("apps/v1", "Deployment", replicas="x", template={"spec": {}}),
    "with generateName": kinds.SERVICE | {"metadata": {"generateName": "s-"}},
}


def answers(component: JsonObject) -> list[Any]:
    """All that decisions ask of a component."""
    appwrapper = AppWrapper({"spec": {"components": [component]}})
    (recorded,) = recorded_pod_sets(appwrapper)
    return [
        recorded,
        named(recorded, component, "u1", 1, 0),
        fixed_name(component),
        asks_to_be_kept(component),
        may_have_pods(component),
        is_kept(component),
        len(component.get("podSetInfos") or ()),
    ]


@pytest.mark.parametrize("template", EVERY_KIND.values(), ids=EVERY_KIND.keys())
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"annotations": KEEP},
        {"podSets": [{"path": "template.spec.template", "replicas": 4, "annotations": {"a": "b"}}]},
        {"podSets": [{"path": 7}]},
        {"podSetInfos": [{"labels": {"a": "b"}}, {}]},
    ],
    ids=["alone", "kept", "declaring", "declaring nonsense", "started"],
)
def test_every_decision_about_a_component_is_the_same(
    template: JsonObject, fields: dict[str, Any]
) -> None:
    component = {"template": template, **fields}
    (outline,) = outlined(whole() | {"spec": {"components": [component]}})["spec"]["components"]
    assert answers(outline) == answers(component)
    again = outlined({"metadata": METADATA, "spec": {"components": [outline]}})
    assert again["spec"]["components"] == [outline]


def test_projection_keeps_the_fields_that_decisions_need() -> None:
    metadata = METADATA | {
        "labels": {"kueue.x-k8s.io/queue-name": "q", "team": "a"},
        "annotations": {
            "workload.codeflare.dev.appwrapper/retryLimit": "3",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
        "managedFields": [{}],
        "ownerReferences": [{}],
        "finalizers": ["workload.codeflare.dev/finalizer"],
    }
    raw = whole(kinds.pod(8)) | {"metadata": metadata}
    raw["spec"]["components"][0] |= {"annotations": {"a": "b"}, "podSetInfos": [{"count": 1}]}
    known = project_appwrapper(raw, [GPU, "amd.com/gpu"])
    assert (known.uid, known.phase, known.is_ours) == ("u1", "Suspended", True)
    outline = known.read()
    assert requested(outline) == {GPU: 8.0}
    assert known.requested == ((GPU, 8.0),)
    assert outline.raw == {
        "metadata": METADATA
        | {
            "labels": {"kueue.x-k8s.io/queue-name": "q"},
            "annotations": {"workload.codeflare.dev.appwrapper/retryLimit": "3"},
            "finalizers": ["workload.codeflare.dev/finalizer"],
        },
        "spec": {
            "suspend": True,
            "components": [
                {
                    "template": {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "metadata": {"name": kinds.NAME},
                    },
                    "mayHavePods": True,
                    "podSets": [{"path": "template", "replicas": 1}],
                    "podSetInfos": [{}],
                }
            ],
        },
        "status": {"phase": "Suspended"},
        "requested": {GPU: 8.0},
    }


@pytest.mark.parametrize("deployed", ["True", "False"])
def test_kinds_are_those_of_components_that_exist(deployed: str) -> None:
    recorded = [
        {"name": "a", "apiVersion": "batch/v1", "kind": "Job"},
        {"name": "b", "apiVersion": "batch/v1", "kind": "Job"},
        {"name": "c", "apiVersion": "v1", "kind": "Service"},
        {"name": "", "apiVersion": "v1", "kind": "ConfigMap"},
    ]
    conditions = [{"type": "ResourcesDeployed", "status": deployed}]
    status = {"componentStatus": recorded, "conditions": conditions}
    first, second = (project_appwrapper(whole(status=status)) for _ in range(2))
    found = (GroupVersionKind("batch", "v1", "Job"), GroupVersionKind("", "v1", "Service"))
    assert first.kinds == (found if deployed == "True" else ())
    assert first.kinds is second.kinds


def test_kinds_of_an_appwrapper_that_runs_in_another_cluster_are_none() -> None:
    status = {
        "componentStatus": [{"name": "a", "apiVersion": "batch/v1", "kind": "Job"}],
        "conditions": [{"type": "ResourcesDeployed", "status": "True"}],
    }
    item = whole(status=status)
    assert project_appwrapper(item).kinds
    item["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    assert project_appwrapper(item).kinds == ()


def test_one_without_anything() -> None:
    outline = project_appwrapper({"metadata": METADATA}).read()
    assert outline.raw["spec"] == {"components": []}
    assert (outline.status, outline.finalizers, requested(outline)) == ({}, [], {})


def test_whose_it_is_is_known_without_reading_it() -> None:
    other = whole() | {"spec": {"managedBy": "example.org/other"}}
    assert not project_appwrapper(other).is_ours


def _of_many(key: str) -> dict[str, Any]:
    many = {f"example.org/{number}": "" for number in range(50_000)}
    return whole() | {"metadata": METADATA | {key: many}}


def _of_many_infos() -> dict[str, Any]:
    raw = whole(kinds.pod())
    raw["spec"]["components"][0]["podSetInfos"] = [{}] * 300_000
    return raw


@pytest.mark.parametrize(
    "raw",
    [
        whole(kinds.pod() | {"spec": {"containers": [{"env": [{}] * 300_000}]}}),
        whole(kinds.kind("v1", "ConfigMap") | {"data": {"a": "x" * 1_000_000}}),
        whole() | {"metadata": METADATA | {"managedFields": [{}] * 300_000}},
        _of_many("labels"),
        _of_many("annotations"),
        _of_many_infos(),
    ],
    ids=["entries", "text", "managed fields", "labels", "annotations", "podSetInfos"],
)
def test_nothing_that_a_user_writes_makes_it_large(raw: dict[str, Any]) -> None:
    tracemalloc.start()
    try:
        known = project_appwrapper(raw)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(known.text) < 2_000
    assert held < 20_000


def test_a_field_kept_whole_is_no_larger_than_stored() -> None:
    """Finalizers go back with every write of them."""
    finalizers = [f"a/{number}" for number in range(50_000)]
    known = project_appwrapper(whole() | {"metadata": METADATA | {"finalizers": finalizers}})
    assert known.read().finalizers == finalizers
    assert len(known.text) < 600_000


def test_a_status_nested_deeper_than_usual_is_kept() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    raw = whole() | {"status": {"phase": "Running", "timers": {"a": {"b": deep}}}}
    assert project_appwrapper(raw).read().status == raw["status"]


@given(components(), json_values())
def test_no_template_whatsoever_ends_the_informer(component: Any, status: Any) -> None:
    raw = {"metadata": METADATA, "spec": {"components": [component]}, "status": {"a": status}}
    assert project_appwrapper(raw, [GPU]).uid == "u1"


def test_an_unforeseen_object_is_kept_unchanged() -> None:
    """A pass over it fails as it did before, and over no other."""
    raw = whole() | {"spec": {"components": ["nonsense"]}}
    assert project_appwrapper(raw).read().raw == raw


def test_components_are_kept_whole_for_their_creation_alone() -> None:
    raw = whole(kinds.pod(), kinds.SERVICE)
    assert [b'"containers"' in each for each in component_texts(raw)] == [True, False]


@pytest.mark.parametrize(
    ("phase", "deleting", "runs"),
    [
        ("Resuming", False, True),
        ("Running", False, True),
        ("Running", True, False),
        ("Resetting", False, False),
        ("Failed", False, False),
        ("", False, False),
    ],
)
def test_it_runs_until_its_pods_are_deleted(phase: str, deleting: bool, runs: bool) -> None:
    raw = whole(kinds.pod(8)) | {"status": {"phase": phase}}
    if deleting:
        raw["metadata"] = METADATA | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    outline = project_appwrapper(raw)
    assert (outline.runs, outline.suspend) == (runs, True)
