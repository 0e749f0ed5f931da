"""No AppWrapper inside an AppWrapper."""

from collections.abc import Iterator

from shared.api import names
from shared.api.field_errors import FieldError, FieldErrorKind
from webhook.components import Component
from webhook.submission import Submission


def is_appwrapper(component: Component) -> bool:
    """In whatever version of the API."""
    return (component.group, component.kind) == (names.GROUP, names.KIND)


def check_nesting(submission: Submission) -> Iterator[FieldError]:
    """No AppWrapper inside an AppWrapper.

    Forbidden, however the allowed Kinds are configured: quota would be counted twice.
    """
    for component in submission.components:
        if is_appwrapper(component):
            yield FieldError(
                f"{component.path}.template",
                FieldErrorKind.FORBIDDEN,
                "an AppWrapper cannot contain another AppWrapper",
            )
