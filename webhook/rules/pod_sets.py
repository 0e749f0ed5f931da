"""Check pod sets: Kueue must count the pods that will run."""

from collections.abc import Iterator
from typing import Final

from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind, quoted
from shared.kinds.kind import (
    MAXIMUM_REPLICAS,
    PodSet,
    PodSetError,
    PodSetPathError,
    declared_pod_sets,
    elements_of,
    template_at,
)
from shared.kinds.table import (
    BY_GROUP_KIND,
    has_more_templates,
    pod_sets_once_admitted,
    pod_sets_to_declare,
)
from webhook.rules.json_patch import SetField
from webhook.rules.kinds import is_listed
from webhook.rules.pods_without_quota import uses_counted
from webhook.rules.submission import Facts, Submission, SubmittedComponent, submitted_components


def declare_pod_sets(submission: Submission) -> Iterator[SetField]:
    """Declare the pod sets of Kinds that Kueue does not infer, if the user declares none.

    On CREATE: Kueue then reserves quota for the pods of a LeaderWorkerSet or an MPIJob, too.

    A user's own declaration stays. If the pod sets cannot be determined, validation rejects the
    component.
    """
    for index, component, template in submitted_components(submission.request):
        if component.get("podSets"):
            continue
        try:
            pod_sets = pod_sets_to_declare(template)
        except PodSetError:
            continue
        if pod_sets:
            declared = [pod_set.as_json() for pod_set in pod_sets]
            yield SetField(("spec", "components", index, "podSets"), declared)


_PodSets = tuple[PodSet, ...]


def check_pod_set_paths(submission: Submission) -> Iterator[FieldError | AdmissionWarning]:
    """Reject declared pod sets whose path leads to no pod template, or that differ from inferred
    ones.

    Every pod set of every component, declared or inferred, must be one that Kueue can follow.
    """
    facts = submission.facts
    for component in submission.components:
        try:
            declared = declared_pod_sets(component.raw)
        except PodSetError as error:
            yield FieldError(f"{component.path}.podSets", FieldErrorKind.INVALID, str(error))
            continue
        errors = list(_check_declared(component, declared))
        yield from errors
        # With wrong paths, the errors about missing pod sets would mislead.
        yield from _check_inferred(component, declared, None if errors else facts)


def _check_declared(component: SubmittedComponent, declared: _PodSets) -> Iterator[FieldError]:
    seen: set[tuple[str | int, ...]] = set()
    for index, pod_set in enumerate(declared):
        here = f"{component.path}.podSets[{index}]"
        try:
            template_at(component.template, pod_set.path)
        except PodSetPathError as error:
            yield _wrong_path(here, pod_set.path, error)
        else:
            # Two paths with different spelling can lead to one place.
            elements = tuple(elements_of(pod_set.path))
            if elements in seen:
                detail, shown = "each pod template can be declared once", quoted(pod_set.path)
                yield FieldError(f"{here}.path", FieldErrorKind.DUPLICATE, detail, shown)
            seen.add(elements)
        if not 0 <= pod_set.replicas <= MAXIMUM_REPLICAS:
            detail = f"must be from 0 to {MAXIMUM_REPLICAS}"
            count = str(pod_set.replicas)
            yield FieldError(f"{here}.replicas", FieldErrorKind.INVALID, detail, count)


def _wrong_path(here: str, path: str, error: PodSetPathError) -> FieldError:
    if not path:
        detail = "a pod set needs the path of its pod template, such as template.spec.template"
        return FieldError(f"{here}.path", FieldErrorKind.REQUIRED, detail)
    detail = f"does not lead to a pod template: {error}"
    return FieldError(f"{here}.path", FieldErrorKind.INVALID, detail, quoted(path))


def _check_inferred(
    component: SubmittedComponent, declared: _PodSets, facts: Facts | None
) -> Iterator[FieldError | AdmissionWarning]:
    """Reject declared pod sets that differ from those that Kueue infers.

    For Kinds that Kueue does not infer, compare them with the real ones if `facts` are given. The
    pod sets of an unreadable template are unknown: `components_of` rejects it.
    """
    if component.record is None:
        return
    inferred = component.inferred
    if inferred is None:
        yield from _check_not_inferred(component, declared, facts)
    elif declared and _counts(declared) != _counts(inferred):
        yield FieldError(
            f"{component.path}.podSets",
            FieldErrorKind.INVALID,
            f"Kueue infers other pod sets for a {component.kind}: {_described(inferred)}; "
            "leave podSets out",
        )


def _check_not_inferred(
    component: SubmittedComponent, declared: _PodSets, facts: Facts | None
) -> Iterator[FieldError | AdmissionWarning]:
    """Compare declared pod sets with the real ones. Undeclared pods would run without quota."""
    expected = pod_sets_to_declare(component.template) or ()
    if declared:
        yield from _differing(component, declared, expected, facts)
    elif expected:
        # Mutation has written them; another webhook must have removed them.
        detail = f"Kueue does not infer those of a {component.kind}: {_described(expected)}"
        yield FieldError(f"{component.path}.podSets", FieldErrorKind.REQUIRED, detail)


def _differing(
    component: SubmittedComponent, declared: _PodSets, expected: _PodSets, facts: Facts | None
) -> Iterator[FieldError | AdmissionWarning]:
    """Warn of a difference; in team namespaces reject too few pods that use counted resources."""
    if facts is None or not expected or _with_pods(declared) == _with_pods(expected):
        return
    counts = _counts(declared)
    if any(
        counts.get(each.path, 0) < each.replicas
        and uses_counted(template_at(component.template, each.path), facts)
        for each in expected
    ):
        yield FieldError(
            f"{component.path}.podSets",
            FieldErrorKind.INVALID,
            f"the {component.kind} makes more pods ({_described(expected)}), and the pods that "
            "are not declared would run without quota; declare these, or leave podSets out",
        )
        return
    yield AdmissionWarning(
        f"{component.path}.podSets differ from those of the {component.kind} itself "
        f"({_described(expected)}); quota is reserved for the declared ones"
    )


def _counts(pod_sets: _PodSets) -> dict[str, int]:
    return {pod_set.path: pod_set.replicas for pod_set in pod_sets}


def _with_pods(pod_sets: _PodSets) -> dict[str, int]:
    return {path: replicas for path, replicas in _counts(pod_sets).items() if replicas}


def _described(pod_sets: _PodSets) -> str:
    return ", ".join(f"{pod_set.path} x {pod_set.replicas}" for pod_set in pod_sets) or "none"


def check_pod_set_count(submission: Submission) -> Iterator[FieldError]:
    """Reject AppWrappers without pod sets, or with more than configuration `maxPodSets`.

    Counts over all components.

    Having none is an error only if nothing else is wrong: beside a component that is rejected or
    cannot be read, the advice would mislead.
    """
    counts: list[tuple[int, SubmittedComponent]] = []
    allowed = submission.config.allowed_kinds.wrapped
    certain = not submission.malformed
    for component in submission.components:
        is_allowed = is_listed(component.group_kind, allowed)
        certain = certain and is_allowed and not _has_other_roles(component)
        try:
            pod_sets = component.pod_sets or pod_sets_once_admitted(component.raw)
            counts.append((len(pod_sets), component))
        except PodSetError:
            certain = False
    count, most = sum(each for each, _component in counts), submission.config.max_pod_sets
    if count > most:
        detail = f"all components together may have at most {most} pod sets: {_shares(counts)}"
        yield FieldError("spec.components", FieldErrorKind.TOO_MANY, detail, str(count))
    if certain and not count:
        yield FieldError("spec.components", FieldErrorKind.REQUIRED, _without_pods(submission))


_MOST_SHARES: Final = 5


def _shares(counts: list[tuple[int, SubmittedComponent]]) -> str:
    """Return how many pod sets the components have, the largest first."""
    largest = sorted(counts, key=lambda each: -each[0])
    shown = [f"{each.path} ({each.kind}) has {count}" for count, each in largest if count]
    more = len(shown) - _MOST_SHARES
    return ", ".join([*shown[:_MOST_SHARES], *([f"and {more} more"] if more > 0 else [])])


def _has_other_roles(component: SubmittedComponent) -> bool:
    """True if it has replica types that Kueue does not count: `uncounted_pods` rejects these."""
    kind = component.record
    return kind is not None and has_more_templates(kind, component.template)


def _without_pods(submission: Submission) -> str:
    kinds = ", ".join(dict.fromkeys(component.kind for component in submission.components))
    detail = f"at least one component must have pods, but none does ({kinds})"
    unknown = [each for each in submission.components if each.group_kind not in BY_GROUP_KIND]
    if not unknown:
        return detail
    return f"{detail}; if a {unknown[0].kind} has pods, declare podSets for it"
