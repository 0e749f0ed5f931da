"""Check annotations under the operator's prefix: values, keys, and what precedes their effect."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from shared.annotations import KEYS, Annotation, AnnotationError, table_for
from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind, quoted
from shared.api.names import (
    ANNOTATION_HELD_BY,
    ANNOTATION_HELPER,
    ANNOTATION_HOLD,
    ANNOTATION_KEEP,
    ANNOTATION_PREFIX,
    ANNOTATION_SUBMITTED_DIGEST,
    ANNOTATION_SUBMITTED_SUSPENDED,
)
from shared.api.objects import JsonObject, annotations, labels, texts
from shared.kinds.kind import (
    TAS_POD_INDEX_LABEL,
    TAS_SUB_GROUP_COUNT,
    TAS_SUB_GROUP_INDEX_LABEL,
    PodSetError,
    declared_pod_sets,
)
from webhook.rules.submission import (
    Submission,
    SubmittedComponent,
    component_pairs,
    has_pods,
)

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig


_ON: Final = "true"
_VALUES: Final = (_ON, "false")
_VALUES_EXPECTED: Final = 'must be "true" or "false"'
_RECORDER: Final = ANNOTATION_PREFIX + "recorder"
_STRATEGY: Final = ANNOTATION_PREFIX + "errorAggregation"


def check_annotations(submission: Submission) -> Iterator[FieldError | AdmissionWarning]:
    """Reject invalid values of the annotations that change fault tolerance, and of `hold`.

    On CREATE: all of them. On UPDATE: those that the request changes, or whose limit it changes by
    a label. Another configuration or another operator may have admitted the others.

    A `recorder` that another setting switches off gets a warning. The Go operator silently used the
    default for an invalid value.
    """
    old, new = submission.old_object, submission.object
    given, stored = annotations(new), annotations(old)
    held = given.get(ANNOTATION_HOLD)
    if held is not None and held not in _VALUES and held != stored.get(ANNOTATION_HOLD):
        path = f"metadata.annotations[{ANNOTATION_HOLD}]"
        yield FieldError(path, FieldErrorKind.INVALID, _VALUES_EXPECTED, quoted(held))
    if given.keys().isdisjoint(KEYS):
        return  # the usual case
    changed = [
        each
        for each, before in zip(table_for(labels(new)), table_for(labels(old)), strict=True)
        if each is not before or given.get(each.key) != stored.get(each.key)
    ]
    yield from _check(new, changed, submission.config)
    if not {_RECORDER, _STRATEGY}.isdisjoint(each.key for each in changed):
        yield from _warn_of_idle_recorder(given, submission.config)


def _warn_of_idle_recorder(
    given: Mapping[str, str], config: "AppWrapperConfig"
) -> Iterator[AdmissionWarning]:
    operator = config.fault_tolerance.error_aggregation
    if given.get(_RECORDER) != _ON:
        return
    here = f"metadata.annotations[{_RECORDER}]: it does nothing"
    if not operator.inject_env:
        field = "faultTolerance.errorAggregation.injectEnv"
        yield AdmissionWarning(f"{here}: the operator's configuration sets {field} to false")
    elif given.get(_STRATEGY, operator.strategy) == "off":
        yield AdmissionWarning(f"{here} while errorAggregation is off; write {_STRATEGY}: earliest")


def _check(
    target: JsonObject, checked: Iterable[Annotation[Any]], config: "AppWrapperConfig"
) -> Iterator[FieldError]:
    given = annotations(target)
    for each in checked:
        if (text := given.get(each.key)) is None:
            continue
        try:
            each.parse(text, config.fault_tolerance)
            if config.grace_period_maximum_policy == "Reject":
                each.check_limit(text, config.fault_tolerance)
        except AnnotationError as error:
            path = f"metadata.annotations[{each.key}]"
            yield FieldError(path, FieldErrorKind.INVALID, str(error), quoted(text))


_SWITCHES: Final = (ANNOTATION_HELPER, ANNOTATION_KEEP)


def check_component_annotations(submission: Submission) -> Iterator[FieldError]:
    """Reject invalid values of the components' annotations `helper` (does not count for success)
    and `keep` (resets do not delete it).

    On CREATE: those of every component.
    """
    for component in submission.components:
        yield from _check_component(component.path, component.raw, {})


def check_changed_component_annotations(submission: Submission) -> Iterator[FieldError]:
    """Reject invalid values of the components' annotations `helper` (does not count for success)
    and `keep` (resets do not delete it).

    On UPDATE: those that the request changes.
    """
    for index, (stored, sent) in enumerate(component_pairs(submission.request)):
        yield from _check_component(f"spec.components[{index}]", sent, stored)


def is_on(component: SubmittedComponent, key: str) -> bool:
    """True if the switch is "true"; any other value means off, as for the controller."""
    return texts(component.raw.get("annotations")).get(key) == _ON


def _check_component(path: str, sent: JsonObject, stored: JsonObject) -> Iterator[FieldError]:
    given, before = texts(sent.get("annotations")), texts(stored.get("annotations"))
    for key in _SWITCHES:
        value = given.get(key)
        if value is None or value == before.get(key):
            continue
        here = f"{path}.annotations[{key}]"
        if value not in _VALUES:
            yield FieldError(here, FieldErrorKind.INVALID, _VALUES_EXPECTED, quoted(value))
        elif key == ANNOTATION_KEEP and value == _ON and has_pods(sent):
            detail = "only a component without pods can be kept: its pods would run without quota"
            yield FieldError(here, FieldErrorKind.FORBIDDEN, detail)


_OF_COMPONENTS: Final = (ANNOTATION_HELPER, ANNOTATION_KEEP, ANNOTATION_SUBMITTED_DIGEST)
_OF_POD_SETS: Final = (TAS_POD_INDEX_LABEL, TAS_SUB_GROUP_INDEX_LABEL, TAS_SUB_GROUP_COUNT)
_OF_APPWRAPPER: Final = (
    *KEYS,
    ANNOTATION_HOLD,
    ANNOTATION_HELD_BY,
    ANNOTATION_SUBMITTED_SUSPENDED,
)
_ON_APPWRAPPER: Final = "metadata.annotations"
_PLACE_OF: Final = (
    dict.fromkeys(_OF_APPWRAPPER, _ON_APPWRAPPER)
    | dict.fromkeys(_OF_COMPONENTS, "spec.components[].annotations")
    | dict.fromkeys(_OF_POD_SETS, "spec.components[].podSets[].annotations")
)
_ALIKE: Final = 0.7  # of 1
_LONGEST: Final = len(ANNOTATION_PREFIX) + 63  # the API server's limit for such a key
_MOST: Final = 10  # warnings; comparing thousands of keys would take seconds

_ON_WRAPPED: Final[Collection[str]] = ()  # nothing reads annotations of wrapped objects
# A prefix that contains one of these, or no prefix at all, counts as this project's, misspelt.
_NEARLY: Final = ("codeflare", "appwrapper")


def _bare(name: str) -> str:
    """Return the name without the endings that users confuse, `s` and `Duration`."""
    return name.lower().removesuffix("s").removesuffix("duration")


def _name(key: str) -> str:
    return key.removeprefix(ANNOTATION_PREFIX)


_BY_NAME: Final = {_bare(_name(key)): key for key in _PLACE_OF}
_GENERIC: Final = frozenset(
    {ANNOTATION_HELPER, ANNOTATION_KEEP, ANNOTATION_HOLD}
)  # other projects may have them

# The path of annotations, their keys, and the keys that are known there.
_Given = tuple[str, Iterable[str], Collection[str]]


def warn_of_unknown_annotations(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn of annotations under the operator's prefix that nothing reads: misspelt or misplaced
    ones.

    On CREATE: of the AppWrapper, its components and their pod sets.
    """
    yield from _warn(_given(submission))


def warn_of_new_unknown_annotations(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn of annotations under the operator's prefix that nothing reads: misspelt or misplaced
    ones.

    On UPDATE: of the AppWrapper, if the request adds or changes them.
    """
    old = annotations(submission.old_object)
    given = annotations(submission.object)
    changed = [key for key, value in given.items() if old.get(key) != value]
    yield from _warn(iter([(_ON_APPWRAPPER, changed, _OF_APPWRAPPER)]))


def _given(submission: Submission) -> Iterator[_Given]:
    yield _ON_APPWRAPPER, annotations(submission.object), _OF_APPWRAPPER
    for component in submission.components:
        here = f"{component.path}.annotations"
        own = texts(component.raw.get("annotations"))
        yield here, own, _OF_COMPONENTS
        yield from _given_of_pod_sets(component)
        yield (
            f"{component.path}.template.{_ON_APPWRAPPER}",
            # `appwrapper pack` copies switches to the component, and leaves the object as it is.
            [each for each in annotations(component.template) if each not in own],
            _ON_WRAPPED,
        )
        for path, template in component.pod_templates:
            if template is not component.template:
                here = f"{component.path}.{path}.{_ON_APPWRAPPER}"
                yield here, annotations(template), _ON_WRAPPED


def _given_of_pod_sets(component: SubmittedComponent) -> Iterator[_Given]:
    try:
        declared = declared_pod_sets(component.raw)
    except PodSetError:
        return  # another rule reports it
    for index, pod_set in enumerate(declared):
        path = f"{component.path}.podSets[{index}].annotations"
        yield path, pod_set.annotations, _OF_POD_SETS


def _warn(given: Iterator[_Given]) -> Iterator[AdmissionWarning]:
    unknown = (
        (path, key[:_LONGEST], known)
        for path, keys, known in given
        for key in keys
        if key not in known and (key.startswith(ANNOTATION_PREFIX) or _meant(key))
    )
    for path, key, known in islice(unknown, _MOST):
        yield AdmissionWarning(f"{path}[{key}]: {_advice(key, known)}")


def _meant(key: str) -> str | None:
    """Return the known key that `key` resembles under another prefix, if there is one."""
    prefix, _, name = key.rpartition("/")
    meant = _BY_NAME.get(_bare(name))
    if meant is None or key.startswith(ANNOTATION_PREFIX):
        return None
    if not prefix:
        return None if meant in _GENERIC else meant
    return meant if any(part in prefix.lower() for part in _NEARLY) else None


def _advice(key: str, known: Collection[str]) -> str:
    whose = "" if known else " of the AppWrapper"
    if (meant := _meant(key)) is not None:
        return f"it does nothing; write {meant} in {_PLACE_OF[meant]}{whose}"
    if (place := _PLACE_OF.get(key)) is not None:
        return f"it does nothing here; it belongs in {place}{whose}"
    for keys in (known, _PLACE_OF):  # the keys of the same place first
        by_name = {_name(each).lower(): _name(each) for each in keys}
        if alike := difflib.get_close_matches(_name(key).lower(), by_name, n=1, cutoff=_ALIKE):
            return f"unknown, so it does nothing; the nearest known one is {by_name[alike[0]]}"
    return "unknown, so it does nothing"
