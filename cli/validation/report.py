"""The report of `appwrapper validate`, as data and as text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from cli.command import ExitCode
from cli.judging.findings import Finding, Severity


class Verdict(StrEnum):
    """The result for one object."""

    VALID = "valid"
    REFUSED = "refused"
    NOT_JUDGED = "skipped"


@dataclass(frozen=True, slots=True)
class JudgedObject:
    """One object, with its place and its outcome. `note`: details of the outcome."""

    file: str
    line: int
    kind: str
    name: str
    outcome: Verdict
    note: str | None = None

    def __str__(self) -> str:
        named = f"{self.kind}/{self.name}" if self.name else self.kind
        note = f": {self.note}" if self.note else ""
        return f"{self.file}:{self.line}: {named}: {self.outcome}{note}"


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The report. `judged_by`: the applied rules. `not_checked`: checks that need a cluster."""

    judged_by: str
    objects: tuple[JudgedObject, ...]
    findings: tuple[Finding, ...]
    not_checked: tuple[str, ...]
    # Files that hold no manifests. Their findings contain the reason.
    unreadable: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """The exit code. Warnings do not change it."""
        if self.unreadable:
            return ExitCode.UNABLE
        is_refused = any(each.severity is Severity.ERROR for each in self.findings)
        return ExitCode.WANTING if is_refused else ExitCode.FINE

    def as_text(self) -> str:
        """Format the findings as compilers do, then the objects."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from map(str, self.findings)
        yield from map(str, self.objects)
        yield f"checked by {self.judged_by}"
        yield from _listed("not checked:", self.not_checked)


def _listed(heading: str, lines: Iterable[str]) -> Iterator[str]:
    found = [f"- {line}" for line in lines]
    if found:
        yield heading
        yield from found
