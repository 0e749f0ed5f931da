"""What is to be said of a manifest: errors and warnings, each with its place. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from cli.manifests.places import Place, way_in
from shared.api.objects import JsonObject, annotations


class Severity(StrEnum):
    """An error refuses."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """`message` is what the webhook says, whole. `path` is the field that it names, if any.

    `file` is the file as its user named it, or the option that brought the field.
    """

    file: str
    line: int | None
    column: int | None
    path: str | None
    severity: Severity
    message: str

    def __str__(self) -> str:
        """As compilers say it, and editors understand."""
        where = ":".join(str(each) for each in (self.file, self.line, self.column) if each)
        return f"{where}: {self.severity}: {self.message}"


# Where a field path of an object leads: the file, or the option, and the place in it.
Locate = Callable[[str], tuple[str, Place | None]]


def finding(severity: Severity, message: str, target: JsonObject, locate: Locate) -> Finding:
    """With its place. The path is at the beginning of the message, where it has one."""
    path = _path_of(message, target)
    file, place = locate(path or "")
    line, column = (place.line, place.column) if place else (None, None)
    return Finding(file, line, column, path, severity, message)


def findings(
    errors: Iterable[str], warnings: Iterable[str], target: JsonObject, locate: Locate
) -> list[Finding]:
    """Errors first."""
    found = [finding(Severity.ERROR, each, target, locate) for each in errors]
    return found + [finding(Severity.WARNING, each, target, locate) for each in warnings]


def _path_of(message: str, target: JsonObject) -> str | None:
    """What stands before the colon, or before the first blank, if it leads into the object."""
    path = message.partition(": ")[0].partition(" ")[0]
    if path in annotations(target):  # warnings name them by their keys
        return f"metadata.annotations[{path}]"
    first = path.partition(".")[0].partition("[")[0]
    known = first in ("metadata", "spec") or bool(way_in(target, path))
    return path if known else None
