"""Everything an AppWrapper creates lives in the AppWrapper's own namespace."""

from collections.abc import Iterator

from shared.api.field_errors import FieldError, FieldErrorKind
from webhook.metadata import metadata
from webhook.submission import Submission


def check_component_namespace(submission: Submission) -> Iterator[FieldError]:
    """Everything an AppWrapper creates lives in the AppWrapper's own namespace.

    A namespace that is absent, null or empty is the AppWrapper's; any other must equal it.
    """
    own = submission.request.namespace
    for component in submission.components:
        namespace = metadata(component.template).get("namespace")
        if namespace is None or namespace in ("", own):
            continue
        yield FieldError(
            f"{component.path}.template.metadata.namespace",
            FieldErrorKind.FORBIDDEN,
            f"an AppWrapper in namespace {own} cannot create resources in another namespace",
        )
