"""Annotations under our prefix that nothing reads: typing errors, and known ones out of place."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from shared.api.admission_warning import AdmissionWarning
from shared.api.names import (
    ANNOTATION_HELPER,
    ANNOTATION_KEEP,
    ANNOTATION_PREFIX,
    ANNOTATION_SUBMITTED_DIGEST,
    ANNOTATION_SUBMITTED_SUSPENDED,
)
from shared.fault_tolerance.annotations import KEYS
from shared.kinds.pod_set import (
    TAS_POD_INDEX_LABEL,
    TAS_SUB_GROUP_COUNT,
    TAS_SUB_GROUP_INDEX_LABEL,
    PodSetError,
    declared_pod_sets,
)
from webhook.admission_review import AdmissionRequest
from webhook.components import Component
from webhook.facts import Facts
from webhook.metadata import annotations, texts
from webhook.submission import Submission

_OF_COMPONENTS: Final = (ANNOTATION_HELPER, ANNOTATION_KEEP, ANNOTATION_SUBMITTED_DIGEST)
_OF_POD_SETS: Final = (TAS_POD_INDEX_LABEL, TAS_SUB_GROUP_INDEX_LABEL, TAS_SUB_GROUP_COUNT)
_OF_APPWRAPPER: Final = (*KEYS, ANNOTATION_SUBMITTED_SUSPENDED)
_ON_APPWRAPPER: Final = "metadata.annotations"
_PLACES: Final[Mapping[str, Collection[str]]] = {
    _ON_APPWRAPPER: _OF_APPWRAPPER,
    "spec.components[].annotations": _OF_COMPONENTS,
    "spec.components[].podSets[].annotations": _OF_POD_SETS,
}
_ALIKE: Final = 0.7  # of 1
_LONGEST: Final = len(ANNOTATION_PREFIX) + 63  # what the API server lets a key of metadata have
_MOST: Final = 10  # are told; comparing thousands would take seconds

# Where annotations stand, their keys, and those that mean something there.
_Given = tuple[str, Iterable[str], Collection[str]]


def warn_of_unknown_annotations(submission: Submission) -> Iterator[AdmissionWarning]:
    """Annotations under our prefix that nothing reads: typing errors, and known ones out of place.

    On CREATE: of the AppWrapper, its components and their pod sets.
    """
    yield from _warn(_given(submission))


def warn_of_new_unknown_annotations(
    request: AdmissionRequest, _facts: Facts
) -> Iterator[AdmissionWarning]:
    """Annotations under our prefix that nothing reads: typing errors, and known ones out of place.

    On UPDATE: of the AppWrapper, where the request adds or changes them.
    """
    old = annotations(request.old_object)
    given = annotations(request.object)
    changed = [key for key, value in given.items() if old.get(key) != value]
    yield from _warn(iter([(_ON_APPWRAPPER, changed, _OF_APPWRAPPER)]))


def _given(submission: Submission) -> Iterator[_Given]:
    yield _ON_APPWRAPPER, annotations(submission.request.object), _OF_APPWRAPPER
    for component in submission.components:
        here = f"{component.path}.annotations"
        yield here, texts(component.raw.get("annotations")), _OF_COMPONENTS
        yield from _given_of_pod_sets(component)


def _given_of_pod_sets(component: Component) -> Iterator[_Given]:
    try:
        declared = declared_pod_sets(component.raw)
    except PodSetError:
        return  # an error of its own
    for index, pod_set in enumerate(declared):
        path = f"{component.path}.podSets[{index}].annotations"
        yield path, pod_set.annotations, _OF_POD_SETS


def _warn(given: Iterator[_Given]) -> Iterator[AdmissionWarning]:
    unknown = (
        (path, key[:_LONGEST], known)
        for path, keys, known in given
        for key in keys
        if key.startswith(ANNOTATION_PREFIX) and key not in known
    )
    for path, key, known in islice(unknown, _MOST):
        yield AdmissionWarning(f"{path}[{key}]: {_advice(key, known)}")


def _advice(key: str, known: Collection[str]) -> str:
    for place, keys in _PLACES.items():
        if key in keys:
            return f"it does nothing here; it belongs in {place}"
    # Those of the same place first.
    for keys in (known, *_PLACES.values()):
        by_name = {_name(each).lower(): _name(each) for each in keys}
        if alike := difflib.get_close_matches(_name(key).lower(), by_name, n=1, cutoff=_ALIKE):
            return f"unknown, so it does nothing; the nearest known one is {by_name[alike[0]]}"
    return "unknown, so it does nothing"


def _name(key: str) -> str:
    return key.removeprefix(ANNOTATION_PREFIX)
