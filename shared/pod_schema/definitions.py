"""Takes what concerns pods out of the API server's OpenAPI v3 document. Pure.

The document of the core group is 1.6 MB of descriptions, paths and other Kinds. What is kept is the
fields of the types that a Pod is made of, each with a short notation of its type, such as

    {"io.k8s.api.core.v1.Container": {
        "args": "[]string",
        "env": "[]io.k8s.api.core.v1.EnvVar",
        "restartPolicyRules": "[]io.k8s.api.core.v1.ContainerRestartRule", ...}}

Lists are `[]TYPE` and maps `map[string]TYPE`, as in Go; the other notations are those of `scalars`.
"""

from typing import Final

from shared.api.objects import JsonObject, JsonValue
from shared.pod_schema import scalars

POD: Final = "io.k8s.api.core.v1.Pod"
POD_TEMPLATE: Final = "io.k8s.api.core.v1.PodTemplateSpec"
LIST_OF: Final = "[]"
MAP_OF: Final = "map[string]"

_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_REFERENCE: Final = "#/components/schemas/"

# By the type's name: its fields and their types' notations.
Definitions = dict[str, dict[str, str]]


class PodSchemaError(ValueError):
    """A document without what it must have. The message says what is missing."""


def definitions_of(document: JsonObject) -> Definitions:
    """The types that Pod and PodTemplateSpec are made of. Raises PodSchemaError.

    `document` is what `/openapi/v3/api/v1` answers.
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
    """The name of the defined type in a notation; None where it is made of scalars only."""
    while True:
        if notation.startswith(LIST_OF):
            notation = notation.removeprefix(LIST_OF)
        elif notation.startswith(MAP_OF):
            notation = notation.removeprefix(MAP_OF)
        else:
            return None if notation in scalars.BY_NOTATION else notation


def _fields(schemas: JsonObject, name: str) -> dict[str, str]:
    properties = _definition(schemas, name).get("properties")
    if not isinstance(properties, dict):
        raise PodSchemaError(f"the OpenAPI document does not say which fields a {name} has")
    return {field: _notation(schemas, schema) for field, schema in sorted(properties.items())}


def _definition(schemas: JsonObject, name: str) -> JsonObject:
    definition = schemas.get(name)
    if not isinstance(definition, dict):
        raise PodSchemaError(f"the OpenAPI document does not define {name}")
    return definition


def _notation(schemas: JsonObject, schema: JsonValue) -> str:
    """The notation of a property. What this code does not know may be anything.

    It is better to let an error pass, which the API server reports when the pod is created, than to
    refuse what a newer API has.
    """
    if not isinstance(schema, dict):
        return scalars.ANYTHING.notation
    if (name := _reference(schema)) is not None:
        definition = _definition(schemas, name)
        if name == _QUANTITY:
            return scalars.QUANTITY.notation
        return name if definition.get("properties") else _scalar(definition)
    if schema.get("type") == "array":
        return LIST_OF + _notation(schemas, schema.get("items"))
    if schema.get("type") == "object" and "additionalProperties" in schema:
        return MAP_OF + _notation(schemas, schema["additionalProperties"])
    return _scalar(schema)


def _reference(schema: JsonObject) -> str | None:
    """The type that a schema refers to, plainly or as the only one of `allOf`."""
    match schema:
        case {"$ref": str(target)} | {"allOf": [{"$ref": str(target)}]}:
            return target.removeprefix(_REFERENCE)
    return None


def _scalar(schema: JsonObject) -> str:
    kind, form = str(schema.get("type")), str(schema.get("format"))
    if form == "int-or-string":
        return scalars.INTEGER_OR_STRING.notation
    return _SCALARS.get((kind, form), _SCALARS.get((kind, ""), scalars.ANYTHING)).notation


_SCALARS: Final = {
    ("boolean", ""): scalars.BOOLEAN,
    ("integer", "int32"): scalars.INT32,
    ("integer", ""): scalars.INT64,
    ("number", ""): scalars.NUMBER,
    ("string", "byte"): scalars.BASE64,
    ("string", "date-time"): scalars.TIME,
    ("string", ""): scalars.STRING,
}
