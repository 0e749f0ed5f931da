"""What every pod of an AppWrapper gets: its name as a label, a scheduler, anti-affinities."""

from collections.abc import Mapping

from shared.api.json import JsonObject
from shared.api.names import LABEL_APPWRAPPER
from shared.injection.conflict import InjectionConflict
from shared.injection.pod_defaults import PodDefaults, pod_defaults
from shared.injection.pod_template import missing_fields
from shared.kinds.paths import elements_of, template_at
from shared.kinds.pod_set import PodSet, PodSetError
from shared.kinds.table import pod_sets_once_admitted
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import SetField
from webhook.metadata import metadata
from webhook.submitted_components import submitted_components


def fill_in_pod_templates(request: AdmissionRequest, facts: Facts) -> list[SetField]:
    """What every pod of an AppWrapper gets: its name as a label, a scheduler, anti-affinities.

    On CREATE: in the pod template of every pod set, declared or inferred.

    The controller does the same again when it creates the pods. Pod sets that cannot be told, and
    templates that cannot be read, stay as they are, for validation to refuse; so does an AppWrapper
    with more pod sets than it may have.
    """
    defaults, labels = pod_defaults(facts.config), _labels(request)
    changes: list[SetField] = []
    left = facts.config.max_pod_sets
    for index, component, template in submitted_components(request):
        pod_sets = _pod_sets(component)
        left -= len(pod_sets)
        if left < 0:
            return []
        for pod_set in pod_sets:
            changes += _changes(index, template, pod_set.path, labels, defaults)
    return changes


def _labels(request: AdmissionRequest) -> dict[str, str]:
    """Pods are counted by the name, so a prefix of it would do harm: none while it is unknown."""
    name = request.name or metadata(request.object).get("name")
    return {LABEL_APPWRAPPER: name} if isinstance(name, str) and name else {}


def _pod_sets(component: JsonObject) -> tuple[PodSet, ...]:
    try:
        return pod_sets_once_admitted(component)
    except PodSetError:
        return ()


def _changes(
    index: int, template: JsonObject, path: str, labels: Mapping[str, str], defaults: PodDefaults
) -> list[SetField]:
    """All that one pod template lacks, or nothing."""
    try:
        pod_template = template_at(template, path)
        missing = list(missing_fields(pod_template, labels, defaults, path))
    except (PodSetError, InjectionConflict):
        return []
    here = ("spec", "components", index, "template", *elements_of(path))
    return [SetField((*here, *place), value) for place, value in missing]
