"""A mistake in a pod template, cheap to find by the thousand and told in full only on request."""

import difflib
import re
from dataclasses import dataclass
from typing import Any, Final

from shared.api.field_errors import FieldError, FieldErrorKind, quoted
from shared.pod_schema.containers import Container, Fields
from shared.pod_schema.scalars import Fault

# Keys are the user's: they may be of any length and hold anything. No real one is longer than this
# (a label's prefix is at most 253 characters, its name 63).
_PLAIN_KEY: Final = re.compile(r"[-_./A-Za-z0-9]{1,317}")
_LONGEST_LIKE_A_FIELD: Final = 100

# Where a value stands: (the place of its container, that container, its key); () is the outermost.
# A plain tuple, because one is made for each object and list of a template that has no mistake.
Place = tuple[()] | tuple[Any, Container, str | int]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong at a place; without a `fault` it is that its container has no such field."""

    place: Place
    fault: Fault | None

    def error(self, path: str) -> FieldError:
        """The whole message; `path` is that of the pod template."""
        detail, value = self.fault or (_unknown_field(self.place), None)
        return FieldError(f"{path}{_path(self.place)}", FieldErrorKind.INVALID, detail, value)


def _path(place: Place) -> str:
    """To be put behind the path of the pod template: `.spec.containers[0].image`."""
    keys: list[str] = []
    while place:
        place, container, key = place
        shown = _shown(key)
        keys.append(f".{shown}" if isinstance(container, Fields) else f"[{shown}]")
    return "".join(reversed(keys))


def _unknown_field(place: Place) -> str:
    assert place, "the outermost object is in no field"
    _, container, key = place
    assert isinstance(container, Fields), "only fields can be unknown"
    assert isinstance(key, str), "fields have names"
    if len(key) <= _LONGEST_LIKE_A_FIELD:
        # Case is the commonest slip, and for difflib a capital is just another letter.
        alike = [name for name in container.by_name if name.lower() == key.lower()]
        if nearest := alike or difflib.get_close_matches(key, container.by_name, n=1):
            return f'unknown field; did you mean "{nearest[0]}"?'
    return f"unknown field: {container.name} has none of that name"


def _shown(key: str | int) -> str:
    if isinstance(key, str) and not _PLAIN_KEY.fullmatch(key):
        return quoted(key)
    return str(key)
