"""Nobody gets by wrapping what they may not create: configuration `userRBACAdmissionCheck`."""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.components import Component, components_of
from webhook.submission import Submission
from webhook.validate.allowed_kinds import may_be_wrapped
from webhook.validate.nesting import is_appwrapper

# Kinds of one AppWrapper, each in its version. Each costs the API server a question, and nobody
# wraps as many.
MOST_KINDS: Final = 64


def check_access(submission: Submission) -> Iterator[FieldError]:
    """Nobody gets by wrapping what they may not create: configuration `userRBACAdmissionCheck`.

    Forbidden for every component of a Kind that the user may not create in this namespace.

    Whether they may was asked before (`gather/access_reviews.py`); here it is told.
    """
    kinds = _kinds(submission.components, submission.config)
    if len(kinds) > MOST_KINDS:
        detail = f"rights to at most {MOST_KINDS} different Kinds can be looked up"
        yield FieldError("spec.components", FieldErrorKind.TOO_MANY, detail, str(len(kinds)))
        return
    denied = submission.facts.denied_kinds
    for component in submission.components:
        reason = denied.get((component.api_version, component.kind))
        if reason is not None:
            yield FieldError(f"{component.path}.template", FieldErrorKind.FORBIDDEN, reason)


def kinds_to_review(request: AdmissionRequest, config: AppWrapperConfig) -> list[tuple[str, str]]:
    """The Kinds, as (apiVersion, kind), about which `check_access` needs an answer; no Kind twice.

    None for Kinds that another rule refuses anyway: that would only tell the user what else exists.
    """
    components, _malformed = components_of(request.object)
    kinds = _kinds(components, config)
    return kinds if len(kinds) <= MOST_KINDS else []


def _kinds(components: Sequence[Component], config: AppWrapperConfig) -> list[tuple[str, str]]:
    if not config.user_rbac_admission_check:
        return []
    allowed = config.allowed_kinds.wrapped
    return list(
        dict.fromkeys(
            (component.api_version, component.kind)
            for component in components
            if may_be_wrapped(component, allowed) and not is_appwrapper(component)
        )
    )
