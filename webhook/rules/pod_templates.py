"""Pod templates: what is injected into them, and how strictly they are read."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import JsonObject, metadata
from shared.injection.fields import InjectionConflict
from shared.injection.pod_template import PodDefaults, missing_fields, pod_defaults
from shared.kinds.kind import (
    ROOT,
    PodSet,
    PodSetError,
    PodSetPathError,
    declared_pod_sets,
    elements_of,
    template_at,
)
from shared.kinds.table import inferred_pod_sets, pod_sets_once_admitted
from shared.pod_schema.pod_schema import Mistake, PodSchema
from webhook.admission_review import AdmissionRequest
from webhook.rules.json_patch import SetField
from webhook.rules.submission import Component, Facts, Submission, submitted_components


def fill_in_pod_templates(request: AdmissionRequest, facts: Facts) -> list[SetField]:
    """What every pod of an AppWrapper gets: its name as a label, a scheduler, anti-affinities.

    On CREATE: in the pod template of every pod set, declared or inferred.

    The controller does the same again when it creates the pods. Pod sets that cannot be told, and
    templates that cannot be read, stay as they are, for validation to refuse; so does an AppWrapper
    with more pod sets than it may have.
    """
    defaults, labels = pod_defaults(facts.config), _labels(request)
    changes: list[SetField] = []
    left = facts.config.max_pod_sets
    for index, component, template in submitted_components(request):
        pod_sets = _pod_sets(component)
        left -= len(pod_sets)
        if left < 0:
            return []
        for pod_set in pod_sets:
            changes += _changes(index, template, pod_set.path, labels, defaults)
    return changes


def _labels(request: AdmissionRequest) -> dict[str, str]:
    """Pods are counted by the name, so a prefix of it would do harm: none while it is unknown."""
    name = metadata(request.object).get("name") or request.name
    return {LABEL_APPWRAPPER: name} if isinstance(name, str) and name else {}


def _pod_sets(component: JsonObject) -> tuple[PodSet, ...]:
    try:
        return pod_sets_once_admitted(component)
    except PodSetError:
        return ()


def _changes(
    index: int, template: JsonObject, path: str, labels: Mapping[str, str], defaults: PodDefaults
) -> list[SetField]:
    """All that one pod template lacks, or nothing."""
    try:
        pod_template = template_at(template, path)
        missing = list(missing_fields(pod_template, labels, defaults, path))
    except (PodSetError, InjectionConflict):
        return []
    here = ("spec", "components", index, "template", *elements_of(path))
    return [SetField((*here, *place), value) for place, value in missing]


# A component's mistakes told in full, and those that are counted: a hostile template can have a
# million, and looking at each would keep everybody else waiting.
_SHOWN: Final = 20
_COUNTED: Final = 1000


def check_pod_templates(submission: Submission) -> Iterator[FieldError]:
    """Pod templates are decoded as strictly as the API server decodes pods.

    Every pod template that a pod set names, with its metadata and spec.

    What cannot be found at all is `pod_set_paths`' to report. Raises RuntimeError without a schema:
    what cannot be judged does not get in.

    A misspelt field would otherwise be dropped without a word when the pods are created: a memory
    limit that is none, an affinity that binds nothing. And Kueue cannot read a template at all that
    has a field or a type it does not expect: it would report that on its own side, again and again.
    """
    schema = submission.facts.pod_schema
    if schema is None:
        raise RuntimeError("pod templates were to be judged without knowing the schema of pods")
    for component in submission.components:
        mistakes = _mistakes(component, schema)
        for path, mistake in islice(mistakes, _SHOWN):
            yield mistake.error(path)
        more = sum(1 for _ in islice(mistakes, _COUNTED - _SHOWN))
        if more:
            count = f"at least {more}" if more == _COUNTED - _SHOWN else str(more)
            detail = f"its pod templates have {count} more fields that cannot be decoded"
            yield FieldError(f"{component.path}.template", FieldErrorKind.INVALID, detail)


def _mistakes(component: Component, schema: PodSchema) -> Iterator[tuple[str, Mistake]]:
    """The mistakes of all pod templates of a component, each with the path of its template.

    Where Kueue infers the pod sets, only its own count: others are refused elsewhere.
    """
    try:
        inferred = inferred_pod_sets(component.template)
        pod_sets = declared_pod_sets(component.raw) if inferred is None else inferred
    except PodSetError:
        return
    seen: set[int] = set()
    for pod_set in pod_sets:
        try:
            found = template_at(component.template, pod_set.path)
        except PodSetPathError:
            continue
        if id(found) in seen:
            continue
        seen.add(id(found))
        if inferred is None:
            mistakes = _mistakes_of_declared(found, schema)
        elif pod_set.path == ROOT:
            mistakes = schema.pod_mistakes(found)
        else:
            mistakes = schema.template_mistakes(found)
        for mistake in mistakes:
            yield f"{component.path}.{pod_set.path}", mistake


def _mistakes_of_declared(found: JsonObject, schema: PodSchema) -> Iterator[Mistake]:
    """In a Kind that nobody here knows, a path may lead to more than a pod template.

    The Go operator allows that, too.
    """
    known: JsonObject = {part: found[part] for part in ("metadata", "spec") if part in found}
    return schema.template_mistakes(known)
