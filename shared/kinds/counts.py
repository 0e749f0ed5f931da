"""Reading how many pods an object asks for, as Kueue reads it: some fields strictly, some not."""

from shared.api.json import JsonObject, JsonValue
from shared.kinds.paths import template_at, value_at
from shared.kinds.pod_set import (
    MAXIMUM_REPLICAS,
    MOST_POD_SETS,
    PodSet,
    PodSetError,
    PodSetPathError,
)


def count_at(template: JsonObject, path: str, *, default: int = 1) -> int:
    """The number at `path`; `default` when absent or null. Raises PodSetError for anything else."""
    value = value_or_none(template, path)
    if value is None:
        return default
    if type(value) is not int:  # bool is an int in Python, not in Kubernetes
        raise PodSetError(f"{path} must be an integer")
    return value


def lenient_count_at(template: JsonObject, path: str, *, default: int) -> int:
    """The number at `path`; `default` for anything that is no integer (Kueue does the same)."""
    value = value_or_none(template, path)
    return value if type(value) is int else default


def length_at(template: JsonObject, path: str) -> int:
    """The number of elements of the array at `path`; 0 for anything else.

    Raises PodSetError when they are more than can be pod sets.
    """
    value = value_or_none(template, path)
    length = len(value) if isinstance(value, list) else 0
    if length > MOST_POD_SETS:
        raise PodSetError(f"{path} has {length} elements, but at most {MOST_POD_SETS} are read")
    return length


def exists(template: JsonObject, path: str) -> bool:
    """Whether the path leads somewhere, be it to null."""
    try:
        value_at(template, path)
    except PodSetPathError:
        return False
    return True


def value_or_none(template: JsonObject, path: str) -> JsonValue:
    """What is at `path`; None where it leads nowhere, too."""
    try:
        return value_at(template, path)
    except PodSetPathError:
        return None


def asks_for_resources(resources: JsonValue) -> bool:
    """Whether the `resources` of a container or a pod request or limit anything."""
    if not isinstance(resources, dict):
        return False
    return bool(resources.get("requests") or resources.get("limits"))


def checked(template: JsonObject, pod_sets: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """The same pod sets. Raises PodSetError for one without pod template or out of range."""
    for pod_set in pod_sets:
        template_at(template, pod_set.path)
        if not 0 <= pod_set.replicas <= MAXIMUM_REPLICAS:
            raise PodSetError(
                f"{pod_set.path} would have {pod_set.replicas} replicas: "
                f"the count must be from 0 to {MAXIMUM_REPLICAS}"
            )
    return pod_sets
