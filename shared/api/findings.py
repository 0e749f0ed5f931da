"""What a rule finds: errors of fields, and warnings."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# What is wrong with one field of an object, in the words of Kubernetes.

_LONGEST_QUOTED: Final = 80


class FieldErrorKind(StrEnum):
    """The kinds of the API server's own field errors, as they are printed."""

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

    `value` is shown for kinds that judge a value (Invalid, Unsupported, Duplicate); None hides it.
    """

    path: str
    kind: FieldErrorKind
    detail: str
    value: str | None = None

    def __str__(self) -> str:
        shown = "" if self.value is None else f": {self.value}"
        return f"{self.path}: {self.kind}{shown}: {self.detail}"


def describe(errors: Sequence[FieldError]) -> str:
    """All errors in one line, as the API server joins them: one bare, several in brackets."""
    texts = [str(error) for error in errors]
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"


def quoted(text: str) -> str:
    """What somebody wrote, as messages show it: in quotes, on one line, cut when long."""
    cut = text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + "…"
    return json.dumps(cut, ensure_ascii=False)


# What a rule has to say to a person without refusing anything: an admission warning.

_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class AdmissionWarning:
    """kubectl prints it as `Warning: TEXT`. The API server may cut a text at 256 characters."""

    text: str

    @property
    def shown(self) -> str:
        """The text, cut where it names something that a user made very long."""
        return self.text if len(self.text) <= _LONGEST else self.text[: _LONGEST - 1] + "…"
