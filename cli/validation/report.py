"""The report of `appwrapper validate`: findings with places, and the result by object. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from cli.command import ExitCode
from cli.manifests.manifest import Manifest
from cli.manifests.places import Place, way_in
from cli.manifests.reading import Unreadable
from shared.api.objects import JsonObject, annotations
from shared.kinds.kind import ROOT


class FindingLevel(StrEnum):
    """How bad a finding is. The webhook rejects an object with an error."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class ManifestFinding:
    """An error or warning about a manifest, with its place.

    `message`: the webhook's whole message. `path`: the field in the message, if any. `file`: the
    file as the user named it, or the option that set the field.
    """

    file: str
    line: int | None
    column: int | None
    path: str | None
    severity: FindingLevel
    message: str

    def __str__(self) -> str:
        """Format the finding as compilers do, which editors can parse."""
        where = ":".join(str(each) for each in (self.file, self.line, self.column) if each)
        return f"{where}: {self.severity}: {self.message}"


_DEEPER: Final = re.compile(rf"(?<![\w.]){ROOT}\.[-\w.\[\]/]*[\w\]]")
_QUOTED: Final = re.compile(r': (?:Unsupported|Invalid) value: "(?P<key>[^"]+)"')

# Maps a field path of an object to the file or option, and to the place in the file.
Locate = Callable[[str], tuple[str, Place | None]]


def findings(
    errors: Iterable[str], warnings: Iterable[str], target: JsonObject, locate: Locate
) -> list[ManifestFinding]:
    """Return all findings, errors first. A message may begin with a field path."""
    levels = ((FindingLevel.ERROR, errors), (FindingLevel.WARNING, warnings))
    return [
        _finding(*locate(_pointed_at(path or "", message, target)), message, path, level)
        for level, messages in levels
        for message in messages
        for path in [_path_of(message, target)]
    ]


def _pointed_at(path: str, message: str, target: JsonObject) -> str:
    """Return the path to the wrong value, which may be deeper than the message's own path.

    Some messages name the rest of the path (`spec.components[0].template: …: template.spec.x must
    be an integer`) or the key (`…replicas: Unsupported value: "master"`) after it.
    """
    rest = message.removeprefix(path)
    if deeper := _DEEPER.search(rest):
        return f"{path.removesuffix(ROOT)}{deeper[0]}" if path.endswith(ROOT) else path
    key = _QUOTED.match(rest)
    if not path or key is None:
        return path
    named = f"{path}.{key['key']}"
    # The quoted text is a key of the field, or the whole value of the field.
    return named if len(way_in(target, named)) > len(way_in(target, path)) else path


def _finding(
    file: str,
    place: Place | None,
    message: str,
    path: str | None = None,
    level: FindingLevel = FindingLevel.ERROR,
) -> ManifestFinding:
    line, column = (place.line, place.column) if place else (None, None)
    return ManifestFinding(file, line, column, path, level, message)


def _path_of(message: str, target: JsonObject) -> str | None:
    """Return the text before the first colon or blank if it is a path into the object."""
    path = message.partition(": ")[0].partition(" ")[0]
    if path in annotations(target):  # warnings name them by their keys
        return f"metadata.annotations[{path}]"
    first = path.partition(".")[0].partition("[")[0]
    known = first in ("metadata", "spec") or bool(way_in(target, path))
    return path if known else None


class Validity(StrEnum):
    VALID = "valid"
    REFUSED = "refused"
    NOT_JUDGED = "skipped"


@dataclass(frozen=True, slots=True)
class ValidatedObject:
    """One object, with its place and its outcome. `note`: details of the outcome."""

    file: str
    line: int
    kind: str
    name: str
    outcome: Validity
    note: str | None = None

    @classmethod
    def of(cls, manifest: Manifest, outcome: Validity, note: str | None = None) -> Self:
        line, kind = manifest.place().line, manifest.kind or "object"
        return cls(manifest.source, line, kind, manifest.name, outcome, note)

    def __str__(self) -> str:
        named = f"{self.kind}/{self.name}" if self.name else self.kind
        note = f": {self.note}" if self.note else ""
        return f"{self.file}:{self.line}: {named}: {self.outcome}{note}"


Validated = tuple[ValidatedObject, list[ManifestFinding]]


def validated_as(
    manifest: Manifest,
    errors: Sequence[str],
    warnings: Iterable[str] = (),
    note: str | None = None,
    written: Callable[[str], str] = str,
) -> Validated:
    """Return the result for an object: it is refused if there are errors.

    `written` returns the path as the user wrote it, where it differs from the messages'.
    """

    def locate(path: str) -> tuple[str, Place]:
        return manifest.source, manifest.place(way_in(manifest.value, written(path)))

    outcome = Validity.REFUSED if errors else Validity.VALID
    found = findings(errors, warnings, manifest.value, locate)
    return ValidatedObject.of(manifest, outcome, note), found


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The report. `judged_by`: the applied rules. `not_checked`: checks that need a cluster."""

    judged_by: str
    objects: tuple[ValidatedObject, ...]
    findings: tuple[ManifestFinding, ...]
    not_checked: tuple[str, ...]
    # Files that hold no manifests. Their findings contain the reason.
    unreadable: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """The exit code. Warnings do not change it."""
        if self.unreadable:
            return ExitCode.UNABLE
        is_refused = any(each.severity is FindingLevel.ERROR for each in self.findings)
        return ExitCode.WANTING if is_refused else ExitCode.FINE

    def as_text(self) -> str:
        """Format the findings as compilers do, then the objects."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from map(str, self.findings)
        yield from map(str, self.objects)
        yield f"checked by {self.judged_by}"
        if self.not_checked:
            yield "not checked:"
            yield from (f"- {line}" for line in self.not_checked)


def validation_report(
    judged_by: str,
    results: Sequence[Validated],
    unreadable: Sequence[Unreadable],
    not_checked: tuple[str, ...],
) -> ValidationReport:
    """Build the report from the results, and from the files that hold no manifests."""
    broken = [_finding(each.source, each.error.place, str(each.error)) for each in unreadable]
    return ValidationReport(
        judged_by,
        tuple(each for each, _ in results),
        (*broken, *(each for _, findings in results for each in findings)),
        not_checked,
        tuple(each.source for each in unreadable),
    )
