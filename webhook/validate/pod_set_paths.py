"""Declared pod sets: each path must lead to a pod template, inferred ones must be as inferred."""

from collections.abc import Iterator

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.podsets.declared import declared_pod_sets
from shared.podsets.infer import inferred_pod_sets
from shared.podsets.paths import template_at
from shared.podsets.pod_set import MAXIMUM_REPLICAS, PodSet, PodSetError, PodSetPathError
from webhook.components import Component
from webhook.submission import Submission


def check_pod_set_paths(submission: Submission) -> Iterator[FieldError]:
    """Every pod set of every component, declared or inferred, must be one that Kueue can follow."""
    for component in submission.components:
        yield from _check_declared(component)
        yield from _check_inferred(component)


def _check_declared(component: Component) -> Iterator[FieldError]:
    path = f"{component.path}.podSets"
    try:
        declared = declared_pod_sets(component.raw)
    except PodSetError as error:
        yield FieldError(path, FieldErrorKind.INVALID, str(error))
        return
    seen: set[str] = set()
    for index, pod_set in enumerate(declared):
        here = f"{path}[{index}]"
        if pod_set.path in seen:
            detail = "each pod template can be declared once"
            yield FieldError(f"{here}.path", FieldErrorKind.DUPLICATE, detail, f'"{pod_set.path}"')
        else:
            yield from _check_path(here, pod_set.path, component)
        seen.add(pod_set.path)
        if not 0 <= pod_set.replicas <= MAXIMUM_REPLICAS:
            detail = f"must be from 0 to {MAXIMUM_REPLICAS}"
            count = str(pod_set.replicas)
            yield FieldError(f"{here}.replicas", FieldErrorKind.INVALID, detail, count)


def _check_path(here: str, path: str, component: Component) -> Iterator[FieldError]:
    if not path:
        detail = "a pod set must say where its pod template is, such as template.spec.template"
        yield FieldError(f"{here}.path", FieldErrorKind.REQUIRED, detail)
        return
    try:
        template_at(component.template, path)
    except PodSetPathError as error:
        detail = f"does not lead to a pod template: {error}"
        yield FieldError(f"{here}.path", FieldErrorKind.INVALID, detail, f'"{path}"')


def _check_inferred(component: Component) -> Iterator[FieldError]:
    """Kueue infers some kinds itself; declared pod sets of those must say the same."""
    try:
        inferred = inferred_pod_sets(component.template)
        declared = declared_pod_sets(component.raw)
    except PodSetError as error:
        if not _is_about_declared(component):
            detail = f"its pod sets cannot be told: {error}"
            yield FieldError(f"{component.path}.template", FieldErrorKind.INVALID, detail)
        return
    if not declared or inferred is None:
        return
    if _counts(declared) != _counts(inferred):
        expected = ", ".join(f"{pod_set.path} x {pod_set.replicas}" for pod_set in inferred)
        yield FieldError(
            f"{component.path}.podSets",
            FieldErrorKind.INVALID,
            f"Kueue infers other pod sets for a {component.kind}: {expected or 'none'}; "
            "leave podSets out",
        )


def _is_about_declared(component: Component) -> bool:
    try:
        declared_pod_sets(component.raw)
    except PodSetError:
        return True
    return False


def _counts(pod_sets: tuple[PodSet, ...]) -> dict[str, int]:
    return {pod_set.path: pod_set.replicas for pod_set in pod_sets}
