"""AppWrappers that are nested absurdly deep, which much of what reads them cannot follow.

Pure, and without recursion: no stack is that deep.
"""

from typing import Final

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.api.json import JsonObject, JsonValue
from webhook.admission_review import AdmissionRequest
from webhook.request_fields import as_field_path

# Levels of objects and arrays. Real AppWrappers have about 20. Our encoder ends at about 250, and
# other programs that must read an AppWrapper, or a list of them, end somewhere too.
DEEPEST_APPWRAPPER: Final = 100

_CONTAINERS: Final = (dict, list)
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
        as_field_path(_way_to_deepest(target)),
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
