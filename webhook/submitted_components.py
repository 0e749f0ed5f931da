"""The components of an AppWrapper that is to be created, for rules that change them. Pure."""

from collections.abc import Iterator

from shared.api.json import JsonObject
from webhook.admission_review import AdmissionRequest
from webhook.stored_components import spec_of


def submitted_components(
    request: AdmissionRequest,
) -> Iterator[tuple[int, JsonObject, JsonObject]]:
    """Index in spec.components, component, and its template.

    What is malformed is left out, and left as it is, for validation to refuse.
    """
    components = spec_of(request.object).get("components")
    if not isinstance(components, list):
        return
    for index, component in enumerate(components):
        template = component.get("template") if isinstance(component, dict) else None
        if isinstance(template, dict):
            yield index, component, template
