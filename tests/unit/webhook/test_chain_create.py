"""Each rule of VALIDATE_ON_CREATE, through the chain, so that other rules' errors would show."""

from typing import Any

import pytest

from shared.config.configuration import AllowedKinds
from tests.support.builders.admission import POD, SERVICE, appwrapper, component, errors_of

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {"replicas": 2, "template": {"spec": {"containers": []}}},
}
ANY_KIND: dict[str, Any] = {"allowed_kinds": AllowedKinds(wrapped=("*",))}
SPARK: dict[str, Any] = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "spec": {"driver": {"spec": {}}, "list": [{"spec": {}}], "text": "x"},
}


# Nesting


def test_nested_appwrappers_are_forbidden_although_every_kind_is_allowed() -> None:
    inner = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper"}
    assert errors_of(appwrapper(component(), component(inner)), **ANY_KIND) == [
        "spec.components[1].template: Forbidden: an AppWrapper cannot contain another AppWrapper"
    ]


# Namespace


@pytest.mark.parametrize("namespace", [5, ["team1"]])
def test_a_namespace_that_is_no_string_is_forbidden(namespace: object) -> None:
    deployment = {**DEPLOYMENT, "metadata": {"name": "d", "namespace": namespace}}
    assert errors_of(appwrapper(component(deployment))) == [
        "spec.components[0].template.metadata.namespace: Forbidden: "
        "an AppWrapper in namespace team1 cannot create resources in another namespace"
    ]


# Allowed Kinds


def test_other_kinds_are_forbidden_and_the_allowed_ones_named() -> None:
    config: dict[str, Any] = {"allowed_kinds": AllowedKinds(wrapped=("Pod", "batch/Job"))}
    assert errors_of(appwrapper(component(), component(DEPLOYMENT)), **config) == [
        "spec.components[1].template: Forbidden: "
        "apps/Deployment may not be wrapped; these Kinds may be wrapped: Pod, batch/Job"
    ]


def test_a_kind_of_another_group_is_another_kind() -> None:
    pod = {**POD, "apiVersion": "example.com/v1"}
    config: dict[str, Any] = {"allowed_kinds": AllowedKinds(wrapped=("Pod",))}
    assert errors_of(appwrapper(component(), component(pod)), **config) == [
        "spec.components[1].template: Forbidden: "
        "example.com/Pod may not be wrapped; these Kinds may be wrapped: Pod"
    ]


def test_without_a_near_kind_the_configuration_is_named_once() -> None:
    cron_job = {"apiVersion": "batch/v1", "kind": "CronJob"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    wrapped = appwrapper(component(cron_job), component(lease))
    first = "spec.components[0].template: Forbidden: batch/CronJob may not be wrapped"
    second = "spec.components[1].template: Forbidden: coordination.k8s.io/Lease may not be wrapped"
    without_job = tuple(each for each in AllowedKinds().wrapped if each != "batch/Job")
    config: dict[str, Any] = {"allowed_kinds": AllowedKinds(wrapped=without_job)}
    assert errors_of(wrapped, **config) == [
        f"{first}; the operator's configuration lists the Kinds that may be wrapped "
        "(allowedKinds.wrapped)",
        second,
    ]


def test_a_refused_kind_is_not_blamed_for_having_no_pods() -> None:
    daemon_set = {"apiVersion": "apps/v1", "kind": "DaemonSet"}
    [error] = errors_of(appwrapper(component(daemon_set)))
    assert error.startswith("spec.components[0].template: Forbidden: apps/DaemonSet may not be")


def test_a_star_allows_every_kind() -> None:
    config: dict[str, Any] = {"allowed_kinds": AllowedKinds(wrapped=("*",))}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    assert errors_of(appwrapper(component(), component(lease)), **config) == []


# Number of pod sets


def test_the_limit_is_configured() -> None:
    assert errors_of(appwrapper(component(), component()), max_pod_sets=2) == []
    assert errors_of(appwrapper(component(), component()), max_pod_sets=1) == [
        "spec.components: Too many: 2: all components together may have at most 1 pod sets: "
        "spec.components[0] (Pod) has 1, spec.components[1] (Pod) has 1"
    ]


def test_an_unknown_kind_can_declare_its_pods() -> None:
    config: dict[str, Any] = {"allowed_kinds": AllowedKinds(wrapped=("*",))}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    assert errors_of(appwrapper(component(lease)), **config) == [
        "spec.components: Required value: at least one component must have pods, but none does "
        "(Lease); if a Lease has pods, declare podSets for it"
    ]


# Malformed components


@pytest.mark.parametrize("spec", [None, {}, {"components": None}, {"components": []}, [], "x"])
def test_no_components_are_refused(spec: object) -> None:
    assert errors_of({"metadata": {"name": "job"}, "spec": spec}) == [
        "spec.components: Required value: an AppWrapper must contain at least one component"
    ]


def test_every_malformed_component_is_named() -> None:
    wrapped = appwrapper(
        component(),
        "x",
        {},
        component([]),
        component({"kind": "Pod"}),
        component({"apiVersion": "v1", "kind": ""}),
        component({"apiVersion": 1, "kind": "Pod"}),
        component({"apiVersion": "v1", "kind": ["Pod"]}),
    )
    assert errors_of(wrapped) == [
        "spec.components[1]: Invalid value: must be an object",
        "spec.components[2].template: Required value: the resource to create",
        "spec.components[3].template: Invalid value: must be an object",
        "spec.components[4].template.apiVersion: Required value: every resource has one",
        "spec.components[5].template.kind: Required value: every resource has one",
        "spec.components[6].template.apiVersion: Invalid value: must be a string",
        "spec.components[7].template.kind: Invalid value: must be a string",
    ]


def test_a_malformed_component_is_not_blamed_for_having_no_pods() -> None:
    assert errors_of(appwrapper(component(SERVICE), "x")) == [
        "spec.components[1]: Invalid value: must be an object"
    ]


def test_components_that_are_no_array_are_refused() -> None:
    assert errors_of({"spec": {"components": {"a": 1}}}) == [
        "spec.components: Invalid value: must be an array"
    ]


# Declared pod sets


def test_declared_pod_sets_of_other_kinds_are_accepted() -> None:
    declared = [{"path": "template.spec.driver"}, {"path": "template.spec.list[0]", "replicas": 0}]
    assert errors_of(appwrapper(component(SPARK, podSets=declared)), **ANY_KIND) == []


@pytest.mark.parametrize(
    ("pod_set", "error"),
    [
        (
            {"path": "template.spec.executor"},
            '.path: Invalid value: "template.spec.executor": does not lead to a pod template: '
            "template.spec has no field 'executor'",
        ),
        (
            {"path": "template.metadata"},
            '.path: Invalid value: "template.metadata": does not lead to a pod template: '
            "template has no field 'metadata'",
        ),
        (
            {"path": "template.spec.text"},
            '.path: Invalid value: "template.spec.text": does not lead to a pod template: '
            "template.spec.text is a string, not a pod template",
        ),
        (
            {"path": "spec.driver"},
            '.path: Invalid value: "spec.driver": does not lead to a pod template: '
            "the path must start with 'template'",
        ),
        *(
            (
                pod_set,
                ".path: Required value: a pod set needs the path of its pod template, "
                "such as template.spec.template",
            )
            for pod_set in ({"path": ""}, {"replicas": 2})
        ),
        (
            {"path": "template.spec.driver", "replicas": -1},
            ".replicas: Invalid value: -1: must be from 0 to 2147483647",
        ),
        (
            {"path": "template.spec.driver", "replicas": 2**31},
            ".replicas: Invalid value: 2147483648: must be from 0 to 2147483647",
        ),
    ],
)
def test_a_wrong_declared_pod_set_is_named(pod_set: dict[str, Any], error: str) -> None:
    declared = [{"path": "template.spec.list[0]"}, pod_set]
    assert errors_of(appwrapper(component(SPARK, podSets=declared)), **ANY_KIND) == [
        f"spec.components[0].podSets[1]{error}"
    ]


def test_a_path_declared_twice_is_a_duplicate() -> None:
    declared = [{"path": "template.spec.driver"}, {"path": "template.spec.driver"}]
    assert errors_of(appwrapper(component(SPARK, podSets=declared)), **ANY_KIND) == [
        'spec.components[0].podSets[1].path: Duplicate value: "template.spec.driver": '
        "each pod template can be declared once"
    ]


@pytest.mark.parametrize(
    ("pod_sets", "problem"),
    [
        ({"a": 1}, "podSets is not an array"),
        ([1], "podSets[0] is not an object"),
        ([{"path": "template", "replicas": 1.0}], "podSets[0].replicas is not an integer"),
    ],
)
def test_malformed_pod_sets_are_refused(pod_sets: object, problem: str) -> None:
    assert errors_of(appwrapper(component(podSets=pod_sets))) == [
        f"spec.components[0].podSets: Invalid value: {problem}"
    ]


def test_all_errors_come_at_once() -> None:
    foreign = {**POD, "metadata": {"namespace": "other"}}
    node = {"apiVersion": "v1", "kind": "Node"}
    wrapped = appwrapper("x", component(foreign), component(node), *[component()] * 8)
    assert [error.split(":")[0] for error in errors_of(wrapped)] == [
        "spec.components[0]",
        "spec.components[1].template.metadata.namespace",
        "spec.components[2].template",
        "spec.components",
    ]
