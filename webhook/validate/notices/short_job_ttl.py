"""A Job that deletes itself soon after its end can take the news of that end with it."""

from collections.abc import Iterator
from typing import Final

from shared.api.admission_warning import AdmissionWarning
from shared.api.json import JsonObject
from webhook.submission import Submission

_SHORTEST: Final = 60  # seconds; a controller is back from a restart by then
_FIELD: Final = "ttlSecondsAfterFinished"


def warn_of_short_job_ttl(submission: Submission) -> Iterator[AdmissionWarning]:
    """A Job that deletes itself soon after its end can take the news of that end with it.

    On CREATE.
    """
    for component in submission.components:
        if component.group_kind != "batch/Job":
            continue
        seconds = _spec(component.template).get(_FIELD)
        if type(seconds) is int and seconds < _SHORTEST:
            yield AdmissionWarning(
                f"{component.path}.template.spec.{_FIELD}: {seconds} is short: a Job that is gone "
                "before the controller saw its end counts as lost, and the AppWrapper fails; leave "
                f"it out, or use {_SHORTEST} or more"
            )


def _spec(template: JsonObject) -> JsonObject:
    spec = template.get("spec")
    return spec if isinstance(spec, dict) else {}
