"""Which Kinds may be wrapped: configuration `allowedKinds.wrapped`."""

from collections.abc import Iterator

from shared.api.field_errors import FieldError, FieldErrorKind
from webhook.components import Component
from webhook.submission import Submission
from webhook.validate.nesting import is_appwrapper


def check_allowed_kinds(submission: Submission) -> Iterator[FieldError]:
    """Which Kinds may be wrapped: configuration `allowedKinds.wrapped`.

    Forbidden unless listed, or the list has '*'. An AppWrapper has a rule of its own.
    """
    allowed = submission.config.allowed_kinds.wrapped
    for component in submission.components:
        if may_be_wrapped(component, allowed) or is_appwrapper(component):
            continue
        yield FieldError(
            f"{component.path}.template",
            FieldErrorKind.FORBIDDEN,
            f"{component.group_kind} may not be wrapped; allowed are {', '.join(allowed)}",
        )


def may_be_wrapped(component: Component, allowed: tuple[str, ...]) -> bool:
    """Whether `allowed` has the component's Kind, in whatever version, or every Kind."""
    return is_listed(component.group_kind, allowed)


def is_listed(group_kind: str, allowed: tuple[str, ...]) -> bool:
    """Whether a list of configuration `allowedKinds` has a Kind, or every Kind."""
    return group_kind in allowed or "*" in allowed
