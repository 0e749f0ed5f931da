"""From the texts of values files to an AppWrapper, or to every reason why there is none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cli.generation import job
from cli.generation.checks import check
from cli.generation.legacy import without_legacy_keys
from cli.generation.nodes import Node, Origin, merge, read_values
from cli.generation.set_values import apply
from cli.generation.shapes import Findings, Record
from cli.generation.values import Values
from shared.api.objects import JsonObject

NO_FILE: Final = "the values"


class RefusedValues(ValueError):
    """Values of which no job can be made. One line per error: file, line, key, what to write."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Generated:
    """The AppWrapper, and what its user should know."""

    appwrapper: JsonObject
    warnings: tuple[str, ...]


def generate(files: Sequence[tuple[str, str]], assignments: Sequence[tuple[str, str]]) -> Generated:
    """Make the AppWrapper of files (name, text), later ones first, and of (option, text) pairs.

    Raises UnreadableValues, UnreadableAssignment, RefusedValues.
    """
    root = Node({}, Origin(NO_FILE))
    for source, text in files:
        root = merge(root, read_values(text, source))
    # What is missing is missing in the last file, on no line of it.
    root = Node(root.value, Origin(files[-1][0] if files else NO_FILE))
    for option, text in assignments:
        root = apply(root, text, option)
    found = Findings()
    root = without_legacy_keys(root, found)
    values: Values = Record(Values).read(root, (), found)
    if not found.errors:
        check(values, root, found)
    order = [source for source, _ in files]
    if found.errors:
        raise RefusedValues(_told(found.errors, order))
    return Generated(job.appwrapper(values), tuple(_told(found.warnings, order)))


def _told(findings: Iterable[tuple[Origin, Any]], order: Sequence[str]) -> list[str]:
    """`FILE:LINE: TEXT`, in the order of the files and their lines, options last."""

    def place(finding: tuple[Origin, Any]) -> tuple[int, int]:
        source, line = finding[0].source, finding[0].line
        return (order.index(source) if source in order else len(order), line or 0)

    return [f"{origin}: {text}" for origin, text in sorted(findings, key=place)]
