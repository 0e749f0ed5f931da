from typing import Any

from tests.support.builders.admission import POD, SERVICE, component
from webhook.rules.submission import SubmittedComponent, components_of, has_pods

SPARK: dict[str, Any] = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "spec": {"roles": [{"spec": {"a": 1}}, {"spec": {"b": 2}}]},
}


def parsed(raw: dict[str, Any]) -> SubmittedComponent:
    (found,), _ = components_of({"spec": {"components": [raw]}})
    return found


def of_roles(*indices: str) -> SubmittedComponent:
    pod_sets = [{"path": f"template.spec.roles[{index}]"} for index in indices]
    return parsed(component(SPARK, podSets=pod_sets))


def test_each_template_comes_once_with_its_path_in_the_component() -> None:
    first, second = SPARK["spec"]["roles"]
    assert of_roles("0", "00", "1", "0").pod_templates == (
        ("template.spec.roles[0]", first),
        ("template.spec.roles[1]", second),
    )
    assert parsed(component(POD)).pod_templates == (("template", POD),)


def test_components_whose_pods_cannot_be_determined_are_omitted() -> None:
    assert [path for path, _ in of_roles("7", "x", "1").pod_templates] == ["template.spec.roles[1]"]
    assert parsed(component(POD, podSets="x")).pod_templates == ()


def test_who_has_pods() -> None:
    assert has_pods(component(POD))
    assert not has_pods(component(SERVICE))
    assert not has_pods(component(POD, podSets="x"))
