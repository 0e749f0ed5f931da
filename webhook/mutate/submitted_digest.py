"""A fingerprint of each component as its user submitted it, so that it is known again."""

import re
from collections.abc import Iterator
from typing import Final

from shared.api.component_digest import component_digest
from shared.api.json import JsonValue
from shared.api.names import ANNOTATION_SUBMITTED_DIGEST
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import Change, RemoveField, SetField
from webhook.mutate.inferred_pod_sets import declare_pod_sets
from webhook.mutate.pod_templates import fill_in_pod_templates
from webhook.submitted_components import submitted_components

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def write_submitted_digest(request: AdmissionRequest, facts: Facts) -> Iterator[Change]:
    """A fingerprint of each component as its user submitted it, so that it is known again.

    On CREATE: in the component's annotations, whatever the user wrote there.

    Only what went through mutation before keeps what it got then. Annotations that are no object
    stay, for the API server to refuse.
    """
    incomplete: set[int | str] | None = None
    for index, component, _template in submitted_components(request):
        annotations = component.get("annotations")
        if annotations is not None and not isinstance(annotations, dict):
            continue
        if annotations and _is_digest(annotations.get(ANNOTATION_SUBMITTED_DIGEST)):
            # Perhaps ours, if the component lacks nothing else either. Should a user have written
            # it, a file that it belongs to will be taken for the stored one, and change nothing.
            incomplete = _incomplete(request, facts) if incomplete is None else incomplete
            if index not in incomplete:
                continue
        path = ("spec", "components", index, "annotations", ANNOTATION_SUBMITTED_DIGEST)
        digest = component_digest(component)
        yield RemoveField(path) if digest is None else SetField(path, digest)


def _is_digest(value: JsonValue) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _incomplete(request: AdmissionRequest, facts: Facts) -> set[int | str]:
    """The indices of components that mutation changes otherwise."""
    changes = [*fill_in_pod_templates(request, facts), *declare_pod_sets(request, facts)]
    return {change.path[2] for change in changes}
