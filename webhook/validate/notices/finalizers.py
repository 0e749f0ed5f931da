"""Finalizers in a template keep what is to be deleted, and the quota with it."""

from collections.abc import Iterator

from shared.api.admission_warning import AdmissionWarning
from shared.api.json import JsonObject
from webhook.component_pods import pod_templates
from webhook.metadata import metadata
from webhook.submission import Submission


def warn_of_finalizers(submission: Submission) -> Iterator[AdmissionWarning]:
    """Finalizers in a template keep what is to be deleted, and the quota with it.

    On CREATE: those of the components and of their pods. We never remove somebody else's.
    """
    for component in submission.components:
        places: dict[str, JsonObject] = {f"{component.path}.template": component.template}
        places |= pod_templates(component)
        for path, template in places.items():
            if metadata(template).get("finalizers"):
                yield AdmissionWarning(
                    f"{path}.metadata.finalizers: until their owners remove them, nothing is gone: "
                    "resets and suspensions wait, and quota stays taken"
                )
