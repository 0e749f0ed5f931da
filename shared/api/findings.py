"""Errors of fields and warnings, as rules report them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Errors of one field of an object, in Kubernetes' form.

_LONGEST_QUOTED: Final = 80


class FieldErrorKind(StrEnum):
    """The kinds of the API server's own field errors, as kubectl prints them."""

    REQUIRED = "Required value"
    INVALID = "Invalid value"
    DUPLICATE = "Duplicate value"
    FORBIDDEN = "Forbidden"
    TOO_MANY = "Too many"
    TOO_LONG = "Too long"
    UNSUPPORTED = "Unsupported value"
    INTERNAL = "Internal error"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error. `path` is the JSON path as Kubernetes writes it (`spec.components[0].template`).

    `value` is shown for errors of a value (Invalid, Unsupported, Duplicate); None hides it.
    """

    path: str
    kind: FieldErrorKind
    detail: str
    value: str | None = None

    def __str__(self) -> str:
        shown = "" if self.value is None else f": {self.value}"
        return f"{self.path}: {self.kind}{shown}: {self.detail}"


def describe(errors: Sequence[FieldError]) -> str:
    """Join all errors in one line, as the API server does: one bare, several in brackets."""
    texts = [str(error) for error in errors]
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"


def quoted(text: str) -> str:
    """Format a user's text for messages: in quotes, on one line, cut if long."""
    cut = text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + "…"
    return json.dumps(cut, ensure_ascii=False)


# A rule's admission warning: it informs the user and refuses nothing.

_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class AdmissionWarning:
    """A text after `Warning:` in kubectl. The API server may cut it at 256 characters."""

    text: str

    @property
    def shown(self) -> str:
        """Return the text, cut if a user's own name makes it too long."""
        return self.text if len(self.text) <= _LONGEST else self.text[: _LONGEST - 1] + "…"
