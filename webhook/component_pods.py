"""The pods of a component, for rules that only need to know what can be told. Pure."""

from collections.abc import Iterator

from shared.api.json import JsonObject
from shared.kinds.paths import template_at
from shared.kinds.pod_set import PodSetError
from shared.kinds.table import component_pod_sets
from webhook.components import Component


def pod_templates(component: Component) -> Iterator[tuple[str, JsonObject]]:
    """Its pod templates, each with its field path, each once; for a Pod the Pod itself.

    What cannot be told is left out: that is an error already, of `pod_set_paths`. Many paths can
    name one large template: `[0]` and `[00]` are the same.
    """
    try:
        pod_sets = component_pod_sets(component.raw)
    except PodSetError:
        return
    seen: set[int] = set()
    for pod_set in pod_sets:
        try:
            template = template_at(component.template, pod_set.path)
        except PodSetError:
            continue
        if id(template) not in seen:
            seen.add(id(template))
            yield f"{component.path}.{pod_set.path}", template


def has_pods(component: JsonObject) -> bool:
    """Whether an element of spec.components has pod sets, as far as can be told."""
    try:
        return bool(component_pod_sets(component))
    except PodSetError:
        return False
