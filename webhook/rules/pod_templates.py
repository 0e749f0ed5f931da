"""Inject fields into pod templates, and check them strictly."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from shared.annotations import LONGEST_POD_GRACE
from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import JsonObject, annotations, metadata
from shared.api.times import format_duration
from shared.injection.fields import InjectionConflict
from shared.injection.pod_template import (
    PodDefaults,
    long_grace_periods,
    missing_fields,
    pod_defaults,
)
from shared.kinds.kind import (
    ROOT,
    PodSet,
    PodSetError,
    declared_pod_sets,
    elements_of,
    template_at,
)
from shared.kinds.table import (
    pod_sets_once_admitted,
)
from shared.pod_schema.pod_schema import Mistake, PodSchema
from webhook.admission_review import AdmissionRequest
from webhook.rules.json_patch import SetField
from webhook.rules.submission import (
    Submission,
    SubmittedComponent,
    submitted_components,
    templates_of,
)


def fill_in_pod_templates(submission: Submission) -> list[SetField]:
    """Add to every pod template the AppWrapper's name as a label, the scheduler and the
    anti-affinities.

    On CREATE: in the pod template of every pod set, declared or inferred.

    The controller adds the same again when it creates the pods. Pod sets and templates that cannot
    be read, and AppWrappers with too many pod sets, stay as they are: validation rejects them.
    """
    defaults, labels = pod_defaults(submission.config), _labels(submission.request)
    changes: list[SetField] = []
    left = submission.config.max_pod_sets
    for index, component, template in submitted_components(submission.request):
        pod_sets = _pod_sets(component)
        left -= len(pod_sets)
        if left < 0:
            return []
        for pod_set in pod_sets:
            changes += _changes(index, template, pod_set.path, labels, defaults)
    return changes


def _labels(request: AdmissionRequest) -> dict[str, str]:
    """Return the label with the name, by which the controller counts pods; none without a name."""
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
    """Return all changes of one pod template; none if it cannot be read."""
    try:
        pod_template = template_at(template, path)
        missing = list(missing_fields(pod_template, labels, defaults, path))
    except (PodSetError, InjectionConflict):
        return []
    here = ("spec", "components", index, "template", *elements_of(path))
    return [SetField((*here, *place), value) for place, value in missing]


# A component's mistakes that are reported, and those that are counted: a hostile template can have
# a million, and counting them all would delay other requests.
_SHOWN: Final = 20
_COUNTED: Final = 1000


def check_pod_templates(submission: Submission) -> Iterator[FieldError]:
    """Decode pod templates as strictly as the API server decodes pods, and reject unknown fields.

    Every pod template that a pod set names, with its metadata and spec.

    `pod_set_paths` reports templates that cannot be found. Raise RuntimeError without a schema: the
    webhook does not admit what it cannot check.

    The API server would otherwise silently drop a misspelt field when the pods are created: a
    memory limit that does not limit, an affinity without effect. And Kueue cannot read a template
    with an unknown field or a wrong type at all: it would only log that, again and again.
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


def _mistakes(component: SubmittedComponent, schema: PodSchema) -> Iterator[tuple[str, Mistake]]:
    """Yield the mistakes of a component's pod templates, each with the path of its template.

    If Kueue infers the pod sets, read only the inferred ones: another rule rejects others.
    """
    try:
        inferred = component.inferred
        pod_sets = declared_pod_sets(component.raw) if inferred is None else inferred
    except PodSetError:
        return
    for path, found in templates_of(component, pod_sets):
        if inferred is None:
            mistakes = _mistakes_of_declared(found, schema)
        elif path == ROOT:
            mistakes = schema.pod_mistakes(found)
        else:
            mistakes = schema.template_mistakes(found)
        for mistake in mistakes:
            yield f"{component.path}.{path}", mistake


def _mistakes_of_declared(found: JsonObject, schema: PodSchema) -> Iterator[Mistake]:
    """Check only metadata and spec: in an unknown Kind, the path may lead to other fields too.

    The Go operator allows that.
    """
    known: JsonObject = {part: found[part] for part in ("metadata", "spec") if part in found}
    return schema.template_mistakes(known)


# Warnings.


def warn_of_cut_grace_period(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn that the controller shortens the grace periods of pods and probes to the limit of a
    deletion.

    On CREATE, if a template asks for a number of seconds: for more than the operator's forceful
    deletion period, or than the AppWrapper's own shorter one.
    """
    limits, own = submission.config.fault_tolerance, LONGEST_POD_GRACE
    longest = own.read(annotations(submission.object), limits)
    is_operators = longest == own.limit(limits)
    whose = "the operator's forceful deletion period" if is_operators else own.key
    for component in submission.components:
        for path, template in component.all_pod_templates:
            for each in long_grace_periods(template, longest):
                if each.asked is not None:
                    yield AdmissionWarning(
                        f"{component.path}.{path}.{each.path}: pods get {each.cut} instead of "
                        f"{each.asked}: {whose} is {format_duration(longest)}"
                    )


def warn_of_finalizers(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn of finalizers in templates: they delay deletions, which hold the quota until then.

    On CREATE: those of the components and of their pods. The controller never removes another
    program's finalizer.
    """
    for component in submission.components:
        templates: dict[str, JsonObject] = {ROOT: component.template}
        templates |= component.pod_templates
        for path, template in templates.items():
            if metadata(template).get("finalizers"):
                yield AdmissionWarning(
                    f"{component.path}.{path}.metadata.finalizers: resets and suspensions wait, "
                    "and the quota stays reserved, until the owners of these finalizers remove them"
                )
