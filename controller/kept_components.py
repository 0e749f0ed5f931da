"""Components that survive resets and suspensions, because their user says so. Pure."""

from shared.api.json import JsonObject
from shared.api.names import ANNOTATION_KEEP
from shared.kinds.pod_set import PodSetError
from shared.kinds.table import pod_sets_once_admitted


def asks_to_be_kept(component: JsonObject) -> bool:
    """Annotations survive what Kueue does to components (kueue.md 0.2)."""
    return bool((component.get("annotations") or {}).get(ANNOTATION_KEEP) == "true")


def is_kept(component: JsonObject) -> bool:
    """An element of spec.components is kept: it asks for it, and has no pods.

    Pods that outlived a suspension would run without quota. The webhook refuses to keep those; one
    that it has not seen is not kept. Nor is a component whose pod sets cannot be told.
    """
    return asks_to_be_kept(component) and not may_have_pods(component)


def may_have_pods(component: JsonObject) -> bool:
    """It declares pod sets, or is of a Kind that makes pods, or nobody can tell."""
    try:
        return bool(pod_sets_once_admitted(component))
    except PodSetError:
        return True
