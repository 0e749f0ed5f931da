"""Read an AppWrapper's requests from its templates, before it has a Workload. Pure."""

from collections.abc import Iterable, Iterator

from shared.api.objects import JsonObject
from shared.api.pod_requests import all_requested
from shared.kinds.kind import PodSetError, template_at
from shared.kinds.table import component_pod_sets
from shared.waits.workload import PodSetAsk


def component_requests(components: Iterable[JsonObject]) -> tuple[PodSetAsk, ...]:
    """Return one per pod set. A component with undetermined pod sets requests nothing here."""
    return tuple(ask for component in components for ask in _asks(component))


def _asks(component: JsonObject) -> Iterator[PodSetAsk]:
    template = component.get("template") or {}
    try:
        for each in component_pod_sets(component):
            spec = template_at(template, each.path)["spec"]
            yield PodSetAsk(each.path, each.replicas, all_requested(spec))
    except PodSetError:
        return
