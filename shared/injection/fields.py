"""Read fields of pod templates that the API server has not validated yet.

null means absent, as for the API server. Any other wrong type prevents the creation, so
InjectionConflict reports it with the field's path.
"""

from shared.api.objects import JsonObject, JsonValue, of_type, type_of


class InjectionConflict(ValueError):
    """Two parties require different values of one field. The message names the field and both."""


def object_in(parent: JsonObject, field: str, path: str) -> JsonObject:
    """Return the object `parent[field]`; insert an empty one if absent. `path` is the parent's.

    Like all functions here, raise InjectionConflict for a value of another type.
    """
    value = of_type(parent.get(field), dict, f"{path}.{field}", InjectionConflict)
    if value is None:
        value = parent[field] = {}
    return value


def objects_in(parent: JsonObject, field: str, path: str) -> list[JsonObject]:
    """Return a new list of the objects in the array `parent[field]`; empty if absent."""
    found: list[JsonObject] = []
    for index, each in enumerate(array_at(parent, field, path)):
        if not isinstance(each, dict):
            raise InjectionConflict(f"{path}.{field}[{index}] is {type_of(each)}, not an object")
        found.append(each)
    return found


def object_at(parent: JsonObject, field: str, path: str) -> JsonObject:
    """Return the object `parent[field]`; a new empty one, which is not inserted, if absent."""
    return element(parent.get(field), f"{path}.{field}")


def array_at(parent: JsonObject, field: str, path: str) -> list[JsonValue]:
    """Return the array `parent[field]` with elements of any type; a new empty one if absent."""
    return of_type(parent.get(field), list, f"{path}.{field}", InjectionConflict) or []


def element(value: JsonValue, path: str) -> JsonObject:
    """Return an element of an array that must be an object; {} for null."""
    return of_type(value, dict, path, InjectionConflict) or {}
