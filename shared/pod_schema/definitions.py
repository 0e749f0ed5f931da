"""Extract the types of pods from the API server's OpenAPI v3 document. Pure.

The document of the core group is 1.6 MB of descriptions, paths and other Kinds. The result holds
only the fields of the types that a Pod consists of, each with a short notation of its type:

    {"io.k8s.api.core.v1.Container": {
        "args": "[]string",
        "env": "[]io.k8s.api.core.v1.EnvVar",
        "restartPolicyRules": "[]io.k8s.api.core.v1.ContainerRestartRule", ...}}

Lists are `[]TYPE` and maps `map[string]TYPE`, as in Go; `pod_schema` defines the other notations.
"""

from typing import Final

from shared.api.objects import JsonObject, JsonValue
from shared.pod_schema.pod_schema import (
    ANYTHING,
    BASE64,
    BOOLEAN,
    BY_NOTATION,
    INT32,
    INT64,
    INTEGER_OR_STRING,
    LIST_OF,
    MAP_OF,
    NUMBER,
    POD,
    POD_TEMPLATE,
    QUANTITY,
    STRING,
    TIME,
    Definitions,
    PodSchemaError,
)

_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_REFERENCE: Final = "#/components/schemas/"


def definitions_of(document: JsonObject) -> Definitions:
    """Return the types that Pod and PodTemplateSpec consist of. Raise PodSchemaError.

    `document` is the answer of `/openapi/v3/api/v1`.
    """
    components = document.get("components")
    schemas = components.get("schemas") if isinstance(components, dict) else None
    if not isinstance(schemas, dict):
        raise PodSchemaError("the OpenAPI document has no components.schemas")
    found: Definitions = {}
    wanted = [POD, POD_TEMPLATE]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = _fields(schemas, name)
            wanted += filter(None, map(referred_to, found[name].values()))
    return found


def referred_to(notation: str) -> str | None:
    """Return the name of the defined type in a notation; None if it has only scalars."""
    while True:
        if notation.startswith(LIST_OF):
            notation = notation.removeprefix(LIST_OF)
        elif notation.startswith(MAP_OF):
            notation = notation.removeprefix(MAP_OF)
        else:
            return None if notation in BY_NOTATION else notation


def _fields(schemas: JsonObject, name: str) -> dict[str, str]:
    properties = _definition(schemas, name).get("properties")
    if not isinstance(properties, dict):
        raise PodSchemaError(f"the OpenAPI document does not list the fields of a {name}")
    return {field: _notation(schemas, schema) for field, schema in sorted(properties.items())}


def _definition(schemas: JsonObject, name: str) -> JsonObject:
    definition = schemas.get(name)
    if not isinstance(definition, dict):
        raise PodSchemaError(f"the OpenAPI document does not define {name}")
    return definition


def _notation(schemas: JsonObject, schema: JsonValue) -> str:
    """Return the notation of a property; a form unknown to this code allows anything.

    It is better to accept an error, which the API server reports when it creates the pod, than to
    refuse a field of a newer API.
    """
    if not isinstance(schema, dict):
        return ANYTHING.notation
    if (name := _reference(schema)) is not None:
        definition = _definition(schemas, name)
        if name == _QUANTITY:
            return QUANTITY.notation
        return name if definition.get("properties") else _scalar(definition)
    if schema.get("type") == "array":
        return LIST_OF + _notation(schemas, schema.get("items"))
    if schema.get("type") == "object" and "additionalProperties" in schema:
        return MAP_OF + _notation(schemas, schema["additionalProperties"])
    return _scalar(schema)


def _reference(schema: JsonObject) -> str | None:
    """Return the type that a schema refers to, directly or as the only one of `allOf`."""
    match schema:
        case {"$ref": str(target)} | {"allOf": [{"$ref": str(target)}]}:
            return target.removeprefix(_REFERENCE)
    return None


def _scalar(schema: JsonObject) -> str:
    kind, form = str(schema.get("type")), str(schema.get("format"))
    if form == "int-or-string":
        return INTEGER_OR_STRING.notation
    return _SCALARS.get((kind, form), _SCALARS.get((kind, ""), ANYTHING)).notation


_SCALARS: Final = {
    ("boolean", ""): BOOLEAN,
    ("integer", "int32"): INT32,
    ("integer", ""): INT64,
    ("number", ""): NUMBER,
    ("string", "byte"): BASE64,
    ("string", "date-time"): TIME,
    ("string", ""): STRING,
}
