"""Fields of pod templates that injection reads before the API server has checked any of them.

null means absent, as for the API server. Any other wrong type cannot be created, so it is said here
in the words of the field's path.
"""

from shared.api.objects import JsonObject, JsonValue, type_of

# What makes a component impossible to create as asked for.


class InjectionConflict(ValueError):
    """Two parties want different things of one field. The message names the field and both."""


def object_in(parent: JsonObject, field: str, path: str) -> JsonObject:
    """The object `parent[field]`, put there empty where absent. `path` is the parent's.

    Raises InjectionConflict when it is something else.
    """
    value: JsonValue = parent.get(field)
    if value is None:
        value = parent[field] = {}
    if not isinstance(value, dict):
        raise InjectionConflict(f"{path}.{field} is {type_of(value)}, not an object")
    return value


def objects_in(parent: JsonObject, field: str, path: str) -> list[JsonObject]:
    """A new list of the objects in the array `parent[field]`; empty where absent.

    Raises InjectionConflict when it, or an element of it, is something else.
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
    """The object `parent[field]`; a new empty one where absent, which is not put there.

    Raises InjectionConflict when it is something else.
    """
    value: JsonValue = parent.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InjectionConflict(f"{path}.{field} is {type_of(value)}, not an object")
    return value


def array_at(parent: JsonObject, field: str, path: str) -> list[JsonValue]:
    """The array `parent[field]`, whatever its elements are; a new empty one where absent.

    Raises InjectionConflict when it is something else.
    """
    value: JsonValue = parent.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InjectionConflict(f"{path}.{field} is {type_of(value)}, not an array")
    return value


def element(value: JsonValue, path: str) -> JsonObject:
    """An element of an array that must be an object; null is an empty one.

    Raises InjectionConflict when it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InjectionConflict(f"{path} is {type_of(value)}, not an object")
    return value
