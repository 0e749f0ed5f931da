"""Pod sets that a component declares itself, and which ones count when both are there."""

from shared.api.json import JsonObject
from shared.podsets.infer import inferred_pod_sets
from shared.podsets.pod_set import MOST_POD_SETS, PodSet, PodSetError


def component_pod_sets(component: JsonObject) -> tuple[PodSet, ...]:
    """The pod sets of one element of `spec.components`, in Kueue's order.

    Declared ones replace inference entirely, annotations included, as in Kueue. A kind whose pod
    sets are neither declared nor inferred has none. Raises PodSetError.
    """
    declared = declared_pod_sets(component)
    if declared:
        return declared
    template = component.get("template")
    if not isinstance(template, dict):
        raise PodSetError("template is not an object")
    return inferred_pod_sets(template) or ()


def declared_pod_sets(component: JsonObject) -> tuple[PodSet, ...]:
    """What `podSets` of the component says; () when absent, null or empty. Raises PodSetError.

    The paths are not followed: `paths.template_at` does that.
    """
    entries = component.get("podSets") or []
    if not isinstance(entries, list):
        raise PodSetError("podSets is not an array")
    if len(entries) > MOST_POD_SETS:
        found = f"podSets has {len(entries)} elements"
        raise PodSetError(f"{found}, but at most {MOST_POD_SETS} are read")
    return tuple(_declared(index, entry) for index, entry in enumerate(entries))


def _declared(index: int, entry: object) -> PodSet:
    if not isinstance(entry, dict):
        raise PodSetError(f"podSets[{index}] is not an object")
    path = entry.get("path", "")
    if not isinstance(path, str):
        raise PodSetError(f"podSets[{index}].path is not a string")
    replicas = entry.get("replicas")
    if replicas is None:
        replicas = 1
    elif type(replicas) is not int:  # bool is an int in Python, not in Kubernetes
        raise PodSetError(f"podSets[{index}].replicas is not an integer")
    annotations = entry.get("annotations") or {}
    if not isinstance(annotations, dict):
        raise PodSetError(f"podSets[{index}].annotations is not an object")
    texts = {key: value for key, value in annotations.items() if isinstance(value, str)}
    return PodSet(path, replicas, texts)
