"""Findings about a manifest: errors and warnings, each with its place. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from cli.manifests.places import Place, way_in
from shared.api.objects import JsonObject, annotations


class Severity(StrEnum):
    """How bad a finding is. The webhook rejects an object with an error."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    `message`: the webhook's whole message. `path`: the field in the message, if any. `file`: the
    file as the user named it, or the option that set the field.
    """

    file: str
    line: int | None
    column: int | None
    path: str | None
    severity: Severity
    message: str

    def __str__(self) -> str:
        """Format the finding as compilers do, which editors can parse."""
        where = ":".join(str(each) for each in (self.file, self.line, self.column) if each)
        return f"{where}: {self.severity}: {self.message}"


# Maps a field path of an object to the file or option, and to the place in the file.
Locate = Callable[[str], tuple[str, Place | None]]


def finding(severity: Severity, message: str, target: JsonObject, locate: Locate) -> Finding:
    """Return a finding with its place. A message may begin with a field path."""
    path = _path_of(message, target)
    file, place = locate(path or "")
    line, column = (place.line, place.column) if place else (None, None)
    return Finding(file, line, column, path, severity, message)


def findings(
    errors: Iterable[str], warnings: Iterable[str], target: JsonObject, locate: Locate
) -> list[Finding]:
    """Return all findings, errors first."""
    found = [finding(Severity.ERROR, each, target, locate) for each in errors]
    return found + [finding(Severity.WARNING, each, target, locate) for each in warnings]


def _path_of(message: str, target: JsonObject) -> str | None:
    """Return the text before the first colon or blank if it is a path into the object."""
    path = message.partition(": ")[0].partition(" ")[0]
    if path in annotations(target):  # warnings name them by their keys
        return f"metadata.annotations[{path}]"
    first = path.partition(".")[0].partition("[")[0]
    known = first in ("metadata", "spec") or bool(way_in(target, path))
    return path if known else None
