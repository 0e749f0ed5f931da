"""Components that survive resets and suspensions, because their user asked for it."""

from typing import Final

from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_KEEP
from shared.api.objects import JsonObject
from shared.kinds.kind import PodSetError
from shared.kinds.table import makes_pods, pod_sets_once_admitted

# In a component's outline: the result of `may_have_pods`, as the outline has no whole template.
MAY_HAVE_PODS: Final = "mayHavePods"


def asks_to_be_kept(component: JsonObject) -> bool:
    """True if the user annotated it so. Kueue drops unknown fields but keeps annotations."""
    return bool((component.get("annotations") or {}).get(ANNOTATION_KEEP) == "true")


def is_kept(component: JsonObject) -> bool:
    """True if an element of spec.components asks to be kept and certainly has no pods.

    Pods that outlive a suspension would run without quota. The webhook rejects such components;
    this check covers objects that bypassed the webhook, and components without readable pod sets.
    """
    return asks_to_be_kept(component) and not may_have_pods(component)


def is_kept_at(appwrapper: AppWrapper, index: int) -> bool:
    """True if the component of that index survives resets and suspensions."""
    components = appwrapper.components
    return index < len(components) and is_kept(components[index])


def may_have_pods(component: JsonObject) -> bool:
    """True if it declares pod sets, its Kind makes pods, or its pod sets are unreadable."""
    if (recorded := component.get(MAY_HAVE_PODS)) is not None:
        return bool(recorded)
    try:
        return bool(pod_sets_once_admitted(component)) or makes_pods(component["template"])
    except PodSetError:
        return True
