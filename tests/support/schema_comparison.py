"""Checks whether one structural schema accepts, and keeps, everything that another one does."""

from collections.abc import Iterator

from shared.api.objects import JsonObject, JsonValue

# The constraints of these are equal in two schemas that agree on the value.
_EXACT = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")
# A schema is at least as wide if its lower bounds are no higher, and its upper bounds no lower.
_LOWER_BOUNDS = ("minLength", "minItems", "minProperties", "minimum")
_UPPER_BOUNDS = ("maxLength", "maxItems", "maxProperties", "maximum")
_DESCRIBES = ("description", "title", "example", "default")
_KNOWN = {
    *_EXACT, *_LOWER_BOUNDS, *_UPPER_BOUNDS, *_DESCRIBES,
    "required", "enum", "pattern", "properties", "items", "additionalProperties",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
}  # fmt: skip


def narrower(theirs: JsonObject, ours: JsonObject, path: str = "") -> Iterator[str]:
    """Yields each way in which `ours` rejects or drops what `theirs` accepts, by the field's path.

    A field that only `ours` has does not count: an object that `theirs` validated has none there,
    since it would have been dropped. Raises ValueError on an unknown keyword.
    """
    where = path or "(root)"
    for schema in (theirs, ours):
        if unknown := set(schema) - _KNOWN:
            raise ValueError(f"{where}: cannot compare {sorted(unknown)}")
    if theirs.get("x-kubernetes-preserve-unknown-fields") and not ours.get(
        "x-kubernetes-preserve-unknown-fields"
    ):
        yield f"{where}: drops unknown fields"
    if ours.get("x-kubernetes-embedded-resource") and not theirs.get(
        "x-kubernetes-embedded-resource"
    ):
        yield f"{where}: requires a whole resource"
    yield from _values(theirs, ours, where)
    yield from _children(theirs, ours, path)


def _values(theirs: JsonObject, ours: JsonObject, where: str) -> Iterator[str]:
    for keyword in _EXACT:
        if keyword in ours and ours[keyword] != theirs.get(keyword):
            yield f"{where}: {keyword} {ours[keyword]}, not {theirs.get(keyword)}"
    if added := sorted(set(ours.get("required", ())) - set(theirs.get("required", ()))):
        yield f"{where}: requires {added}"
    if "enum" in ours and not ("enum" in theirs and set(theirs["enum"]) <= set(ours["enum"])):
        yield f"{where}: only {ours['enum']}"
    if "pattern" in ours and ours["pattern"] != theirs.get("pattern"):
        yield f"{where}: pattern {ours['pattern']}"
    for keyword in _LOWER_BOUNDS:
        if keyword in ours and ours[keyword] > theirs.get(keyword, float("-inf")):
            yield f"{where}: {keyword} {ours[keyword]}"
    for keyword in _UPPER_BOUNDS:
        if keyword in ours and ours[keyword] < theirs.get(keyword, float("inf")):
            yield f"{where}: {keyword} {ours[keyword]}"


def _children(theirs: JsonObject, ours: JsonObject, path: str) -> Iterator[str]:
    kept = theirs.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in theirs
    for name in ours.get("properties", {}) if kept else ():
        if name not in theirs.get("properties", {}):
            yield f"{path}.{name}".lstrip(".") + ": is constrained"
    for name, schema in theirs.get("properties", {}).items():
        field = f"{path}.{name}".lstrip(".")
        if name in ours.get("properties", {}):
            yield from narrower(schema, ours["properties"][name], field)
        else:
            yield f"{field}: is missing"
    for keyword, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        if keyword in theirs:
            if keyword in ours:
                yield from narrower(theirs[keyword], ours[keyword], path + suffix)
            else:
                yield f"{path}{suffix}: is missing"


def without_descriptions(schema: JsonValue) -> JsonValue:
    """Returns the schema as facts: types and constraints, no prose. A field may be
    `description`.
    """
    if isinstance(schema, list):
        return [without_descriptions(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_descriptions(value)
        for key, value in schema.items()
        if not (key == "description" and isinstance(value, str))
    }
