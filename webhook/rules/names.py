"""How deep, how large and of what name an AppWrapper may be."""

from collections.abc import Iterator, Sequence
from typing import Final

import orjson

from shared.api.findings import AdmissionWarning, FieldError, FieldErrorKind, quoted
from shared.api.objects import JsonObject, JsonValue, metadata
from shared.kinds.kind import PodSetError
from shared.kinds.table import component_pod_sets
from webhook.admission_review import AdmissionRequest
from webhook.rules.submission import Submission

# Levels of objects and arrays. Real AppWrappers have about 20. Our encoder ends at about 250, and
# other programs that must read an AppWrapper, or a list of them, end somewhere too.
DEEPEST_APPWRAPPER: Final = 100

_CONTAINERS: Final = (dict, list)
_LONGEST_KEY_SHOWN: Final = 63
_STEPS_SHOWN: Final = 5  # spec, components, [0], template, and one more

_Way = tuple[str | int, ...]


def too_deep(request: AdmissionRequest) -> FieldError | None:
    """AppWrappers that are nested absurdly deep, which much of what reads them cannot follow.

    The error of an AppWrapper that is nested deeper than DEEPEST_APPWRAPPER; None of others.

    Pure, and without recursion: no stack is that deep.
    """
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
        f"nested too deep: at most {DEEPEST_APPWRAPPER} levels of objects and arrays can be judged",
    )


def _way_to_deepest(target: JsonObject) -> _Way:
    """The first steps to what is nested deepest."""
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
    """Keys and indices as Kubernetes writes them: `request.object.spec.components[0]`.

    Long keys are cut: whoever sends them chooses how long they are.
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{_shown(step)}" for step in way)
    return "".join(steps).removeprefix(".")


def _shown(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY_SHOWN else f"{key[:_LONGEST_KEY_SHOWN]}..."


_KIBIBYTE: Final = 1024
LARGE: Final = 256 * _KIBIBYTE  # bytes; above it a warning


def check_object_size(submission: Submission) -> Iterator[FieldError | AdmissionWarning]:
    """How large an AppWrapper may be: configuration `maxObjectSize`.

    As it will be stored, in JSON. The largest component is named, since that is what to cut.

    Each write of its status and each event of a watch carries all of it.
    """
    request, limit = submission.request, submission.config.max_object_size
    if 0 < request.review_size <= min(LARGE, limit):
        return  # the review held the object, and more
    # Encoded once, in parts: the sizes of the components come with that of the whole.
    sizes = [len(orjson.dumps(each)) for each in request.object["spec"]["components"]]
    rest = len(orjson.dumps(_without_components(request.object)))
    total = rest + sum(sizes) + len(sizes) - 1  # the commas
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    path = f"spec.components[{largest}].template"
    if total > limit:
        detail = (
            f"the AppWrapper has {total} bytes, of which this component has {sizes[largest]}; "
            f"at most {limit} are allowed (maxObjectSize): keep data in an image or a volume"
        )
        yield FieldError(path, FieldErrorKind.TOO_LONG, detail)
    elif total > LARGE:
        yield AdmissionWarning(
            f"the AppWrapper is large: {total // _KIBIBYTE} KiB, of which {path} has "
            f"{sizes[largest] // _KIBIBYTE}; every change of its status writes and sends all of "
            "it: keep data in an image or a volume"
        )


def _without_components(target: JsonObject) -> JsonObject:
    return {**target, "spec": {**target["spec"], "components": []}}


# Of a pod set's name in Kueue's Workload, and of a label's value: pods carry ours as a label.
_LONGEST: Final = 63
_SURELY_SHORT: Final = _LONGEST - len("-9999")  # pod sets need not be counted to know
# How the API server makes a name of a generateName: it cuts it and appends some characters.
_APPENDED: Final = 5
_LONGEST_PREFIX: Final = 63 - _APPENDED


def check_names(submission: Submission) -> Iterator[FieldError]:
    """Names that Kueue can hold: it calls the pod sets of AppWrapper NAME `NAME-0`, `NAME-1`, …

    No dots, and short enough for the last pod set's name.

    At validation a generated name is there already; what its user can change is its prefix.
    """
    request = submission.request
    # The object's own: a webhook before us may have changed it since the request was named.
    prefix, name = _prefix(request), _text(request, "name") or request.name
    if prefix and (not name or _is_made_of(name, prefix)):
        yield from _check("metadata.generateName", prefix, _APPENDED, submission)
    else:
        yield from _check("metadata.name", name, 0, submission)


def _check(path: str, text: str, appended: int, submission: Submission) -> Iterator[FieldError]:
    if "." in text:
        detail = (
            "must not contain dots: Kueue names pod sets after the AppWrapper (NAME-0), without any"
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
    """Of the last pod set. Components that cannot be told have errors of their own."""
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
