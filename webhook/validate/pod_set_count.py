"""At least one pod set, and no more than Kueue can hold: configuration `maxPodSets`."""

from collections.abc import Iterator

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.kinds.pod_set import PodSetError
from shared.kinds.table import known_versions, pod_sets_once_admitted
from webhook.submission import Submission
from webhook.validate.allowed_kinds import may_be_wrapped


def check_pod_set_count(submission: Submission) -> Iterator[FieldError]:
    """At least one pod set, and no more than Kueue can hold: configuration `maxPodSets`.

    Counts over all components.

    None at all is an error only if it is the one thing wrong: with a component that is refused or
    cannot be read, its advice would mislead.
    """
    count = 0
    allowed = submission.config.allowed_kinds.wrapped
    certain = not submission.incomplete
    for component in submission.components:
        certain = certain and may_be_wrapped(component, allowed)
        try:
            count += len(pod_sets_once_admitted(component.raw))
        except PodSetError:
            certain = False
    most = submission.config.max_pod_sets
    if count > most:
        yield FieldError(
            "spec.components",
            FieldErrorKind.TOO_MANY,
            f"all components together must have at most {most} pod sets",
            str(count),
        )
    if count or not certain:
        return
    if not any(known_versions(component.template) for component in submission.components):
        kinds = ", ".join(dict.fromkeys(component.kind for component in submission.components))
        yield FieldError(
            "spec.components",
            FieldErrorKind.REQUIRED,
            f"at least one component must have pods, but none does ({kinds}); "
            "for a Kind whose pods are not known, declare podSets",
        )
