"""Limit the depth, the size and the number of parts of an AppWrapper."""

from collections.abc import Iterator, Sequence
from typing import Final

import orjson

from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind
from shared.api.objects import JsonObject, JsonValue
from webhook.admission_review import Operation
from webhook.rules.submission import Submission, elements_of

# Levels of objects and arrays. Real AppWrappers have about 20. orjson encodes about 250, and other
# programs that read AppWrappers, or lists of them, have limits too.
DEEPEST_APPWRAPPER: Final = 100

_AROUND_A_COMPONENT: Final = 3  # levels: the AppWrapper, its spec, the components


def check_depth(submission: Submission) -> Iterator[FieldError]:
    """Reject AppWrappers that are nested deeper than most readers of JSON can follow.

    On CREATE: an AppWrapper that is nested deeper than DEEPEST_APPWRAPPER. The error names the
    first component that is too deep.
    """
    if submission.request.operation is not Operation.CREATE:
        return
    if 0 < submission.request.review_brackets <= DEEPEST_APPWRAPPER:
        return
    if not _is_deeper(submission.object, DEEPEST_APPWRAPPER):
        return
    most = DEEPEST_APPWRAPPER - _AROUND_A_COMPONENT
    path = "spec"
    for index, component in enumerate(elements_of(submission.object)):
        if isinstance(component, dict) and _is_deeper(component, most):
            path = f"spec.components[{index}].template"
            break
    detail = (
        f"nested too deep: at most {DEEPEST_APPWRAPPER} levels of objects and arrays are allowed"
    )
    yield FieldError(path, FieldErrorKind.INVALID, detail)


def _is_deeper(target: JsonObject, levels: int) -> bool:
    """True if objects and arrays are nested deeper. Without recursion: no stack is that deep."""
    level: list[JsonValue] = [target]
    for _ in range(levels):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


_KIBIBYTE: Final = 1024
LARGE: Final = 256 * _KIBIBYTE  # bytes; above this a warning


# Bytes that an UPDATE may add to an AppWrapper that is too large already: labels, managedFields.
_ROOM_FOR_METADATA: Final = 64 * _KIBIBYTE


def check_object_size(submission: Submission) -> Iterator[FieldError]:
    """Reject AppWrappers that are larger than configuration `maxObjectSize`.

    The size is that of the JSON; at /validate the JSON as it will be stored. The error names the
    largest component, because users have to shorten that one. An UPDATE may keep a size above the
    limit: labels and annotations of a larger stored AppWrapper can change.

    Each write of its status and each event of a watch sends all of it.
    """
    limit = submission.config.max_object_size
    if 0 < submission.request.review_size <= limit:
        return  # the object is smaller than its review
    total = _size(submission.object)
    before = 0
    if submission.request.operation is Operation.UPDATE:
        before = _size(submission.old_object) + _ROOM_FOR_METADATA
    if total <= max(limit, before):
        return
    path, size = _largest_component(submission.object)
    detail = (
        f"the AppWrapper has {total} bytes, of which this component has {size}; at most {limit} "
        "are allowed (maxObjectSize): keep data in an image or a volume"
    )
    yield FieldError(path, FieldErrorKind.TOO_LONG, detail)


def warn_of_large_object(submission: Submission) -> Iterator[AdmissionWarning]:
    """Warn of AppWrappers of more than 256 KiB: each change of their status writes and sends all of
    it.

    On CREATE, as it will be stored.
    """
    request = submission.request
    if 0 < request.review_size <= LARGE:
        return
    total = _size(request.object)
    if total > LARGE:
        path, size = _largest_component(request.object)
        yield AdmissionWarning(
            f"the AppWrapper is large: {total // _KIBIBYTE} KiB, of which {path} has "
            f"{size // _KIBIBYTE}; every change of its status writes and sends all of "
            "it: keep data in an image or a volume"
        )


def _largest_component(target: JsonObject) -> tuple[str, int]:
    """Return the path of its template and its bytes; spec if there is no component."""
    sizes = [_size(each) for each in elements_of(target)]
    if not sizes:
        return "spec", 0
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    return f"spec.components[{largest}].template", sizes[largest]


def _size(value: JsonValue) -> int:
    return len(orjson.dumps(value))


# The API server's schema validation after /mutate takes half a minute for 20,000 components.
MOST_COMPONENTS: Final = 100
_LISTS: Final = ("podSets", "podSetInfos")
_SPLIT: Final = "split it into several AppWrappers"


def check_number_of_components(submission: Submission) -> Iterator[FieldError]:
    """Reject more than 100 components, and more than 100 pod sets in all of them together.

    On UPDATE only if the request adds some: an AppWrapper with more that is stored already can
    change.
    """
    sent, stored = elements_of(submission.object), elements_of(submission.old_object)
    if len(sent) > max(MOST_COMPONENTS, len(stored)):
        detail = f"must have at most {MOST_COMPONENTS} items: {_SPLIT}"
        yield FieldError("spec.components", FieldErrorKind.TOO_MANY, detail, str(len(sent)))
        return
    for key in _LISTS:
        counts = _counts(sent, key)
        if (total := sum(counts)) > max(MOST_COMPONENTS, sum(_counts(stored, key))):
            detail = f"all components together may have at most {MOST_COMPONENTS}: {_SPLIT}"
            path = f"spec.components[{counts.index(max(counts))}].{key}"
            yield FieldError(path, FieldErrorKind.TOO_MANY, detail, str(total))
            return


def _counts(components: Sequence[JsonValue], key: str) -> list[int]:
    """Return the length of the list `key` in each component."""
    found = (each.get(key) if isinstance(each, dict) else None for each in components)
    return [len(each) if isinstance(each, list) else 0 for each in found]
