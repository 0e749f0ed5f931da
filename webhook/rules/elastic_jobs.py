"""Keep the pods of team namespaces under Kueue's control: no part of an AppWrapper is elastic."""

from collections.abc import Iterator
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind
from shared.kinds.kind import ROOT, value_or_none
from webhook.rules.submission import Submission, SubmittedComponent

_ELASTIC: Final = "kueue.x-k8s.io/elastic-job"


def check_elastic_jobs(submission: Submission) -> Iterator[FieldError]:
    """Reject Kueue's annotation for elastic jobs on the components of team namespaces.

    On the component, and on the Jobs that it makes. Kueue gates the pods of such a Job, and removes
    the gates only for a Workload of the Job's own. In an AppWrapper the pods would hold quota and
    wait until their deletion.
    """
    for component in submission.of_team:
        for path in dict.fromkeys((ROOT, *_jobs_of(component))):
            found = value_or_none(component.template, f"{path}.metadata.annotations")
            if isinstance(found, dict) and _ELASTIC in found:
                yield FieldError(
                    f"{component.path}.{path}.metadata.annotations[{_ELASTIC}]",
                    FieldErrorKind.FORBIDDEN,
                    "Kueue would never start the component's pods, which would hold quota: an "
                    "AppWrapper cannot be elastic: remove this annotation",
                )


def _jobs_of(component: SubmittedComponent) -> list[str]:
    """Return the paths of its Jobs."""
    kind = component.record
    specs = kind.job_specs(component.template) if kind is not None else ()
    return [spec.removesuffix(".spec") for spec in specs]
