"""Decoding whole pod templates by the API server's own schema."""

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.pod_schema.pod_schema import POD, POD_TEMPLATE, PodSchema, PodSchemaError
from tests.support.builders.admission import POD as A_POD
from tests.support.builders.pod_schema import POD_SCHEMA

# Something of everything: each leaf type, lists, maps, and what only a recent API has.
TEMPLATE: dict[str, Any] = {
    "metadata": {
        "name": "t",
        "creationTimestamp": None,
        "deletionTimestamp": "2026-01-31T12:00:00Z",
        "labels": {"app": "x"},
        "annotations": {"a.b/c": "d", "empty": None},
        "generation": 7,
        "managedFields": [{"fieldsV1": {"f:spec": {".": {}}}, "time": "2026-01-31T12:00:00Z"}],
    },
    "spec": {
        "restartPolicy": "Perhaps",
        "hostNetwork": False,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {"supplementalGroups": [1, 2], "fsGroup": 2**40},
        "overhead": {"cpu": 0.5},
        "resources": {"limits": {"cpu": "1"}},
        "schedulingGates": [{"name": "g"}],
        "resourceClaims": [{"name": "r", "resourceClaimTemplateName": "x"}],
        "containers": [
            {
                "name": "c",
                "image": None,
                "args": ["a", None],
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"port": "http"}, "tcpSocket": {"port": 80}},
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
                "resources": {"limits": {"nvidia.com/gpu": 8, "memory": "1.5Gi"}},
                "restartPolicyRules": [{"action": "Restart", "exitCodes": {"values": [42]}}],
            },
            {},
            None,
        ],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        "nodeSelector": {},
        "tolerations": None,
    },
}


def mistakes_of(template: Any) -> list[str]:
    return [str(mistake.error("T")) for mistake in POD_SCHEMA.template_mistakes(template)]


def in_container(**fields: Any) -> list[str]:
    errors = mistakes_of({"spec": {"containers": [{"name": "c"}, fields]}})
    assert all(error.startswith("T.spec.containers[1].") for error in errors)
    return [error.removeprefix("T.spec.containers[1].") for error in errors]


@pytest.mark.parametrize(
    "template",
    [
        TEMPLATE,
        {},
        {"metadata": None, "spec": None},
        {"spec": {}},
        {"spec": {"containers": None}},
    ],
)
def test_a_template_that_the_api_server_decodes_has_no_mistakes(template: Any) -> None:
    assert mistakes_of(template) == []


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"imagee": "i"}, 'imagee: Invalid value: unknown field; did you mean "image"?'),
        ({"Image": None}, 'Image: Invalid value: unknown field; did you mean "image"?'),
        (
            {"imagePullpolicy": "Always"},
            'imagePullpolicy: Invalid value: unknown field; did you mean "imagePullPolicy"?',
        ),
        (
            {"nodeSelector": {}},
            "nodeSelector: Invalid value: unknown field: Container has none of that name",
        ),
        (
            {"e\nvil": 1},
            '"e\\nvil": Invalid value: unknown field: Container has none of that name',
        ),
        (
            {"x" * 1000: 1},
            f'"{"x" * 80}…": Invalid value: unknown field: Container has none of that name',
        ),
        (
            {"args": [1, "a", 2.5]},
            "args[0]: Invalid value: must be a string, but is a number; put it in quotes\n"
            "args[2]: Invalid value: must be a string, but is a number; put it in quotes",
        ),
        ({"args": "a"}, "args: Invalid value: must be an array, but is a string"),
        ({"args": {}}, "args: Invalid value: must be an array, but is an object"),
        ({"resources": []}, "resources: Invalid value: must be an object, but is an array"),
        (
            {"resources": {"limits": "1"}},
            "resources.limits: Invalid value: must be an object, but is a string",
        ),
        (
            {"resources": {"limits": {"memory": "1Gb", "cpu": "1"}}},
            "resources.limits[memory]: Invalid value: '1Gb' is not a quantity such as 8, 500m or "
            "16Gi",
        ),
        (
            {"ports": [{}, {"containerPort": 2**31}]},
            "ports[1].containerPort: Invalid value: 2147483648: must be from -2147483648 to "
            "2147483647",
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 1.0}}}},
            "lifecycle.preStop.sleep.seconds: Invalid value: 1.0: must be a whole number, without "
            "fraction and exponent",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(fields: dict[str, Any], error: str) -> None:
    assert "\n".join(in_container(**fields)) == error


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ({"spec": "x"}, "T.spec: Invalid value: must be an object, but is a string"),
        ({"spec": []}, "T.spec: Invalid value: must be an object, but is an array"),
        ({"metadata": 1}, "T.metadata: Invalid value: must be an object, but is a number"),
        (
            {"metadata": {"labels": {"a b": "x", "c/d": 1}}},
            "T.metadata.labels[c/d]: Invalid value: must be a string, but is a number; put it in "
            "quotes",
        ),
        (
            {"metadata": {"label": {}}},
            'T.metadata.label: Invalid value: unknown field; did you mean "labels"?',
        ),
        (
            {"metadata": {"creationTimestamp": "today"}},
            'T.metadata.creationTimestamp: Invalid value: "today": must be a time such as '
            "2026-01-31T12:00:00Z",
        ),
        (
            {"status": {}},
            "T.status: Invalid value: unknown field: PodTemplateSpec has none of that name",
        ),
        (
            {"kind": "Pod"},
            "T.kind: Invalid value: unknown field: PodTemplateSpec has none of that name",
        ),
    ],
)
def test_metadata_and_the_template_itself_are_decoded_too(template: Any, error: str) -> None:
    assert mistakes_of(template) == [error]


def test_all_mistakes_come_outermost_first() -> None:
    wrong = {"spec": {"containers": [{"a1": 1, "ports": [{"b2": 1}]}], "c3": 1}, "d4": 1}
    assert [error.partition(":")[0] for error in mistakes_of(wrong)] == [
        "T.d4",
        "T.spec.c3",
        "T.spec.containers[0].a1",
        "T.spec.containers[0].ports[0].b2",
    ]


def test_a_pod_is_more_than_a_pod_template() -> None:
    pod = {**A_POD, "status": {"phase": "Running", "podIPs": [{"ip": "::1"}]}}
    assert list(POD_SCHEMA.pod_mistakes(pod)) == []
    wrong = {**pod, "status": {"phase": 1}, "spek": {}}
    assert [str(mistake.error("T")) for mistake in POD_SCHEMA.pod_mistakes(wrong)] == [
        'T.spek: Invalid value: unknown field; did you mean "spec"?',
        "T.status.phase: Invalid value: must be a string, but is a number; put it in quotes",
    ]


def test_a_type_that_contains_itself_is_followed_to_any_depth() -> None:
    schema = PodSchema({POD: {}, POD_TEMPLATE: {"inner": f"[]{POD_TEMPLATE}"}})
    nested: dict[str, Any] = {"outer": 1}
    for _ in range(100_000):
        nested = {"inner": [nested]}
    [mistake] = schema.template_mistakes(nested)
    error = mistake.error("T")
    assert error.path == "T" + ".inner[0]" * 100_000 + ".outer"


def test_mistakes_are_only_looked_for_as_they_are_asked_for() -> None:
    endless = {"spec": {"containers": [0] * 1_000_000}}
    assert len(list(islice(POD_SCHEMA.template_mistakes(endless), 20))) == 20


KEYS = st.sampled_from(["metadata", "spec", "containers", "name", "resources", "limits", "labels"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, JSON))
def test_whatever_comes_each_mistake_has_a_place_below_the_template(template: Any) -> None:
    assert all(error.startswith("T.") for error in mistakes_of(template))


def test_definitions_that_refer_to_nothing_are_refused() -> None:
    with pytest.raises(PodSchemaError, match=r"^Gone is not defined$"):
        PodSchema({POD: {}, POD_TEMPLATE: {"a": "[]Gone"}})
    with pytest.raises(PodSchemaError, match=r"^io\.k8s\.api\.core\.v1\.Pod is not defined$"):
        PodSchema({POD_TEMPLATE: {}})
