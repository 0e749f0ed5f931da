"""What is kept of the API server's OpenAPI document."""

from typing import Any

import pytest

from shared.pod_schema.definitions import definitions_of
from shared.pod_schema.pod_schema import POD, POD_TEMPLATE, PodSchemaError

SPEC = "io.k8s.api.core.v1.PodSpec"
CONTAINER = "io.k8s.api.core.v1.Container"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def whole(name: str) -> dict[str, Any]:
    """As kube-openapi writes a reference that has a default beside it."""
    return {"allOf": [ref(name)], "default": {}, "description": "long"}


def document(spec: dict[str, Any], **schemas: Any) -> dict[str, Any]:
    return {
        "paths": {"/api/v1/pods": {}},
        "components": {
            "schemas": {
                POD: {"properties": {"spec": whole(SPEC)}},
                POD_TEMPLATE: {"properties": {"spec": whole(SPEC)}},
                SPEC: {"type": "object", "properties": spec},
                CONTAINER: {"properties": {"name": {"type": "string"}}, "required": ["name"]},
                QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
                "Time": {"type": "string", "format": "date-time"},
                "IntOrString": {"format": "int-or-string", "oneOf": [{}, {}]},
                "FieldsV1": {"type": "object"},
                "Unused": {"properties": {"a": {"type": "string"}}},
                **schemas,
            }
        },
    }


@pytest.mark.parametrize(
    ("schema", "notation"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "byte"}, "base64"),
        ({"type": "string", "format": "date-time"}, "time"),
        ({"type": "string", "format": "of tomorrow"}, "string"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "integer", "format": "int32"}, "int32"),
        ({"type": "integer", "format": "int64"}, "int64"),
        ({"type": "integer"}, "int64"),
        ({"type": "number", "format": "double"}, "number"),
        (ref("Time"), "time"),
        (whole("IntOrString"), "int-or-string"),
        (ref(QUANTITY), "quantity"),
        (ref("FieldsV1"), "anything"),
        (ref(CONTAINER), CONTAINER),
        ({"type": "array", "items": whole(CONTAINER)}, f"[]{CONTAINER}"),
        ({"type": "array", "items": {"type": "array", "items": ref("Time")}}, "[][]time"),
        ({"type": "object", "additionalProperties": ref(QUANTITY)}, "map[string]quantity"),
        ({"type": "object", "additionalProperties": True}, "map[string]anything"),
        ({"type": "object"}, "anything"),
        ({"type": ["string", "null"]}, "anything"),
        ({"anyOf": [{"type": "string"}, ref(CONTAINER)]}, "anything"),
        ({}, "anything"),
        (True, "anything"),
    ],
)
def test_each_schema_has_a_short_notation(schema: Any, notation: str) -> None:
    assert definitions_of(document({"field": schema}))[SPEC] == {"field": notation}


def test_only_what_pods_are_made_of_is_kept() -> None:
    found = definitions_of(document({"containers": {"type": "array", "items": ref(CONTAINER)}}))
    assert found == {
        POD: {"spec": SPEC},
        POD_TEMPLATE: {"spec": SPEC},
        SPEC: {"containers": f"[]{CONTAINER}"},
        CONTAINER: {"name": "string"},
    }


def test_a_type_may_contain_itself() -> None:
    nested = document({"self": ref(SPEC)})
    assert definitions_of(nested)[SPEC] == {"self": SPEC}


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ({}, "the OpenAPI document has no components.schemas"),
        ({"components": []}, "the OpenAPI document has no components.schemas"),
        ({"components": {"schemas": {}}}, f"the OpenAPI document does not define {POD_TEMPLATE}"),
        (document({"a": ref("Gone")}), "the OpenAPI document does not define Gone"),
        (
            document({}, **{POD: {"type": "object"}}),
            f"the OpenAPI document does not list the fields of a {POD}",
        ),
    ],
)
def test_a_document_without_what_it_must_have_is_refused(broken: Any, problem: str) -> None:
    with pytest.raises(PodSchemaError) as caught:
        definitions_of(broken)
    assert str(caught.value) == problem
