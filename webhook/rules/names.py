"""Limit the depth, the size, the number of parts and the name of an AppWrapper."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import orjson

from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind, quoted
from shared.api.objects import JsonObject, JsonValue, metadata
from shared.kinds.kind import PodSetError
from shared.kinds.table import component_pod_sets
from webhook.admission_review import AdmissionRequest, Operation
from webhook.rules.submission import Submission, elements_of

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig

# Levels of objects and arrays. Real AppWrappers have about 20. orjson encodes about 250, and other
# programs that read AppWrappers, or lists of them, have limits too.
DEEPEST_APPWRAPPER: Final = 100

_CONTAINERS: Final = (dict, list)
_LONGEST_KEY_SHOWN: Final = 63
_STEPS_SHOWN: Final = 5  # spec, components, [0], template, and another one

_Way = tuple[str | int, ...]


def too_deep(request: AdmissionRequest, _config: "AppWrapperConfig") -> FieldError | None:
    """Reject AppWrappers that are nested deeper than most readers of JSON can follow.

    On CREATE: an AppWrapper that is nested deeper than DEEPEST_APPWRAPPER.

    It does not recurse: no stack is that deep.
    """
    if request.operation is not Operation.CREATE:
        return None
    if 0 < request.review_brackets <= DEEPEST_APPWRAPPER:
        return None
    target = request.object
    level: list[JsonValue] = [target]
    for _ in range(DEEPEST_APPWRAPPER):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, _CONTAINERS)
        ]
        if not level:
            return None
    return FieldError(
        _as_field_path(_way_to_deepest(target)),
        FieldErrorKind.INVALID,
        f"nested too deep: at most {DEEPEST_APPWRAPPER} levels of objects and arrays are allowed",
    )


def _way_to_deepest(target: JsonObject) -> _Way:
    """Return the first steps to the value that is nested deepest."""
    level: list[tuple[_Way, JsonValue]] = [((), target)]
    way: _Way = ()
    while level:
        way = level[0][0]
        level = [
            ((*path, step) if len(path) < _STEPS_SHOWN else path, child)
            for path, parent in level
            for step, child in (parent.items() if isinstance(parent, dict) else enumerate(parent))
            if isinstance(child, _CONTAINERS)
        ]
    return way


def _as_field_path(way: Sequence[str | int]) -> str:
    """Write keys and indices as Kubernetes does: `request.object.spec.components[0]`.

    Cut long keys: the client chooses their length.
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{_shown(step)}" for step in way)
    return "".join(steps).removeprefix(".")


def _shown(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY_SHOWN else f"{key[:_LONGEST_KEY_SHOWN]}..."


_KIBIBYTE: Final = 1024
LARGE: Final = 256 * _KIBIBYTE  # bytes; above this a warning


# Bytes that an UPDATE may add to an AppWrapper that is too large already: labels, managedFields.
_ROOM_FOR_METADATA: Final = 64 * _KIBIBYTE


def too_large(request: AdmissionRequest, config: "AppWrapperConfig") -> FieldError | None:
    """Reject AppWrappers that are larger than configuration `maxObjectSize`.

    The size is that of the JSON; at /validate the JSON as it will be stored. The error names the
    largest component, because users have to shorten that one. An UPDATE may keep a size above the
    limit: labels and annotations of a larger stored AppWrapper can change.

    Each write of its status and each event of a watch sends all of it.
    """
    limit = config.max_object_size
    if 0 < request.review_size <= limit:
        return None  # the object is smaller than its review
    total = _size(request.object)
    before = 0
    if request.operation is Operation.UPDATE:
        before = _size(request.old_object) + _ROOM_FOR_METADATA
    if total <= max(limit, before):
        return None
    path, size = _largest_component(request.object)
    detail = (
        f"the AppWrapper has {total} bytes, of which this component has {size}; at most {limit} "
        "are allowed (maxObjectSize): keep data in an image or a volume"
    )
    return FieldError(path, FieldErrorKind.TOO_LONG, detail)


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


def too_many(request: AdmissionRequest, _config: "AppWrapperConfig") -> FieldError | None:
    """Reject more than 100 components, and more than 100 pod sets in all of them together.

    On UPDATE only if the request adds some: an AppWrapper with more that is stored already can
    change.
    """
    sent, stored = elements_of(request.object), elements_of(request.old_object)
    if len(sent) > max(MOST_COMPONENTS, len(stored)):
        detail = f"must have at most {MOST_COMPONENTS} items: {_SPLIT}"
        return FieldError("spec.components", FieldErrorKind.TOO_MANY, detail, str(len(sent)))
    for key in _LISTS:
        counts = _counts(sent, key)
        if (total := sum(counts)) > max(MOST_COMPONENTS, sum(_counts(stored, key))):
            detail = f"all components together may have at most {MOST_COMPONENTS}: {_SPLIT}"
            path = f"spec.components[{counts.index(max(counts))}].{key}"
            return FieldError(path, FieldErrorKind.TOO_MANY, detail, str(total))
    return None


def _counts(components: Sequence[JsonValue], key: str) -> list[int]:
    """Return the length of the list `key` in each component."""
    found = (each.get(key) if isinstance(each, dict) else None for each in components)
    return [len(each) if isinstance(each, list) else 0 for each in found]


# The limit of a pod set's name in Kueue's Workload, and of a label's value: pods have the
# AppWrapper's name as a label.
_LONGEST: Final = 63
_SURELY_SHORT: Final = _LONGEST - len("-9999")  # short enough for any number of pod sets
# The API server makes a name from a generateName: it cuts the prefix and appends characters.
_APPENDED: Final = 5
_LONGEST_PREFIX: Final = 63 - _APPENDED


def check_names(submission: Submission) -> Iterator[FieldError]:
    """Reject names that are too long for Kueue, which calls the pod sets of AppWrapper NAME
    `NAME-0`, …

    No dots, and short enough for the last pod set's name.

    At validation a generated name is already set; the user can change only its prefix.
    """
    request = submission.request
    # The object's own name: an earlier webhook may have changed it, and not the request's.
    prefix, name = _prefix(request), _text(request, "name") or request.name
    if prefix and (not name or _is_made_of(name, prefix)):
        yield from _check("metadata.generateName", prefix, _APPENDED, submission)
    else:
        yield from _check("metadata.name", name, 0, submission)


def _check(path: str, text: str, appended: int, submission: Submission) -> Iterator[FieldError]:
    if "." in text:
        detail = (
            "must not contain dots: Kueue names pod sets after the AppWrapper (NAME-0), without "
            "dots"
        )
        yield FieldError(path, FieldErrorKind.INVALID, detail, quoted(text))
    if len(text) + appended <= _SURELY_SHORT:
        return
    index = str(_last_index(submission))
    most = _LONGEST - appended - len(f"-{index}")
    if len(text) > most:
        made = f"the API server appends {appended} characters, and " if appended else ""
        detail = (
            f"may have at most {most} characters, but has {len(text)}: {made}Kueue names a pod set "
            f"NAME-{index}, in at most {_LONGEST}"
        )
        yield FieldError(path, FieldErrorKind.TOO_LONG, detail)


def _last_index(submission: Submission) -> int:
    """Return the index of the last pod set. Other rules reject components without known ones."""
    count = 0
    for component in submission.components:
        try:
            count += len(component_pod_sets(component.raw))
        except PodSetError:
            continue
    return max(count - 1, 0)


def _prefix(request: AdmissionRequest) -> str:
    return _text(request, "generateName")


def _is_made_of(name: str, prefix: str) -> bool:
    base = prefix[:_LONGEST_PREFIX]
    return name.startswith(base) and len(name) == len(base) + _APPENDED


def _text(request: AdmissionRequest, key: str) -> str:
    value = metadata(request.object).get(key)
    return value if isinstance(value, str) else ""
