"""Pods that an object's operator makes for certain, though no pod set stands for them."""

from collections.abc import Iterator
from dataclasses import replace

from shared.api.field_errors import FieldError, FieldErrorKind, quoted
from shared.kinds.counts import value_or_none
from shared.kinds.kind import Roles
from shared.kinds.pod_set import PodSetError
from shared.kinds.table import BY_GROUP_KIND, component_pod_sets
from webhook.components import Component
from webhook.submission import Submission


def check_uncounted_pods(submission: Submission) -> Iterator[FieldError]:
    """Pods that an object's operator makes for certain, though no pod set stands for them.

    On CREATE.

    They would run without quota. Kueue reads counts more plainly than the operators do, and a user
    can always write them so that both agree.
    """
    for component in submission.components:
        kind = BY_GROUP_KIND.get(component.group_kind)
        if kind is None:
            continue
        if kind.roles is not None:
            yield from _unknown_roles(component, kind.roles)
        for error in kind.uncounted(component.template):
            yield replace(error, path=f"{component.path}.{error.path}")


def _unknown_roles(component: Component, roles: Roles) -> Iterator[FieldError]:
    """Operators that take role names in any case make pods of those that nobody counts."""
    found = value_or_none(component.template, roles.path)
    if not isinstance(found, dict):
        return
    counted = _paths(component)
    for role in found:
        if role not in roles.counted and f"{roles.path}.{role}.template" not in counted:
            yield FieldError(
                f"{component.path}.{roles.path}",
                FieldErrorKind.UNSUPPORTED,
                f"only the pods of {' and '.join(roles.counted)}, written so, are counted",
                quoted(role),
            )


def _paths(component: Component) -> set[str]:
    try:
        return {pod_set.path for pod_set in component_pod_sets(component.raw)}
    except PodSetError:
        return set()  # an error of its own
