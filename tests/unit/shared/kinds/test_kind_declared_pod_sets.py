import pytest

from shared.kinds.kind import PodSet, PodSetError, declared_pod_sets
from shared.kinds.table import component_pod_sets

POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}


def test_declared_pod_sets_replace_inference_with_its_annotations() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {}}}}
    component = {"podSets": [{"path": "template.spec.template"}], "template": job}
    assert component_pod_sets(component) == (PodSet("template.spec.template", 1),)


@pytest.mark.parametrize("component", [{"template": POD}, {"template": POD, "podSets": []}])
def test_without_declared_ones_the_pod_sets_are_inferred(component: dict[str, object]) -> None:
    assert component_pod_sets(component) == (PodSet("template", 1),)


def test_an_unknown_kind_without_declared_pod_sets_has_none() -> None:
    service = {"apiVersion": "v1", "kind": "Service"}
    assert component_pod_sets({"template": service}) == ()


def test_a_declared_pod_set_keeps_its_count_and_annotations() -> None:
    entry = {"path": "template", "replicas": 0, "annotations": {"a": "b"}}
    assert declared_pod_sets({"podSets": [entry]}) == (PodSet("template", 0, {"a": "b"}),)


@pytest.mark.parametrize(
    ("component", "message"),
    [
        ({"template": [1]}, "template is not an object"),
        ({}, "template is not an object"),
        ({"podSets": {"a": 1}}, "podSets is not an array"),
        ({"podSets": ""}, "podSets is not an array"),
        (
            {"podSets": [{"path": "template", "annotations": ""}]},
            "podSets[0].annotations is not an object",
        ),
        ({"podSets": ["x"]}, "podSets[0] is not an object"),
        ({"podSets": [{"path": 1}]}, "podSets[0].path is not a string"),
        ({"podSets": [{"path": "t", "replicas": True}]}, "podSets[0].replicas is not an integer"),
        ({"podSets": [{"path": "t", "annotations": 1}]}, "podSets[0].annotations is not an object"),
    ],
)
def test_malformed_pod_sets_are_refused(component: dict[str, object], message: str) -> None:
    with pytest.raises(PodSetError) as error:
        component_pod_sets(component)
    assert str(error.value) == message


def test_a_pod_set_is_written_as_the_api_has_it() -> None:
    assert PodSet("template", 2).as_json() == {"path": "template", "replicas": 2}
    assert PodSet("template", 2, {"a": "b"}).as_json() == {
        "path": "template",
        "replicas": 2,
        "annotations": {"a": "b"},
    }
