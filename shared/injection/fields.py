"""Read fields of pod templates that the API server has not validated yet.

null means absent, as for the API server. Any other wrong type prevents the creation, so
InjectionConflict reports it with the field's path.
"""

from shared.api.objects import JsonObject, JsonValue, type_of


class InjectionConflict(ValueError):
    """Two parties require different values of one field. The message names the field and both."""


def object_in(parent: JsonObject, field: str, path: str) -> JsonObject:
    """Return the object `parent[field]`; insert an empty one if absent. `path` is the parent's.

    Raise InjectionConflict if it has another type.
    """
    value: JsonValue = parent.get(field)
    if value is None:
        value = parent[field] = {}
    if not isinstance(value, dict):
        raise InjectionConflict(f"{path}.{field} is {type_of(value)}, not an object")
    return value


def objects_in(parent: JsonObject, field: str, path: str) -> list[JsonObject]:
    """Return a new list of the objects in the array `parent[field]`; empty if absent.

    Raise InjectionConflict if the field or an element has another type.
    """
    value: JsonValue = parent.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InjectionConflict(f"{path}.{field} is {type_of(value)}, not an array")
    found: list[JsonObject] = []
    for index, each in enumerate(value):
        if not isinstance(each, dict):
            raise InjectionConflict(f"{path}.{field}[{index}] is {type_of(each)}, not an object")
        found.append(each)
    return found


def object_at(parent: JsonObject, field: str, path: str) -> JsonObject:
    """Return the object `parent[field]`; a new empty one, which is not inserted, if absent.

    Raise InjectionConflict if it has another type.
    """
    value: JsonValue = parent.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InjectionConflict(f"{path}.{field} is {type_of(value)}, not an object")
    return value


def array_at(parent: JsonObject, field: str, path: str) -> list[JsonValue]:
    """Return the array `parent[field]` with elements of any type; a new empty one if absent.

    Raise InjectionConflict if it has another type.
    """
    value: JsonValue = parent.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InjectionConflict(f"{path}.{field} is {type_of(value)}, not an array")
    return value


def element(value: JsonValue, path: str) -> JsonObject:
    """Return an element of an array that must be an object; {} for null.

    Raise InjectionConflict if it has another type.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InjectionConflict(f"{path} is {type_of(value)}, not an object")
    return value
