"""Generate an AppWrapper from the texts of values files, or report all errors in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from cli.generation import job
from cli.generation.checks import errors_between
from cli.generation.errors import errors_of
from cli.generation.legacy import without_legacy_keys
from cli.generation.parsed_values import Origin, ParsedValues, merge, read_values
from cli.generation.set_values import apply
from cli.generation.values import Values
from shared.api.objects import JsonObject

NO_FILE: Final = "the values"


class RefusedValues(ValueError):
    """Wrong values. One line per error: file, line, key, and the right value."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Generated:
    """The AppWrapper, and the warnings for its user."""

    appwrapper: JsonObject
    warnings: tuple[str, ...]


def generate(
    files: Sequence[tuple[str, str]],
    assignments: Sequence[tuple[str, str]],
    *,
    trainer: bool = False,
) -> Generated:
    """Generate from files (name, text) and assignments (option, text). Later ones override.

    `trainer`: a TrainJob instead of a PyTorchJob. Raises UnreadableValues, RefusedValues.
    """
    root = ParsedValues({}, {})
    for source, text in files:
        root = merge(root, read_values(text, source))
    # Errors about missing keys name the last file, without a line.
    last = Origin(files[-1][0] if files else NO_FILE)
    root = ParsedValues(root.value, {**root.origins, (): last})
    for option, text in assignments:
        root = apply(root, text, option)
    root, warnings = without_legacy_keys(root)
    order = [source for source, _ in files]
    try:
        values = Values.model_validate(root.value)
    except ValidationError as found:
        raise RefusedValues(_lines(errors_of(found, root), order)) from found
    if errors := [
        (root.origin(path), error) for path, error in errors_between(values, trainer=trainer)
    ]:
        raise RefusedValues(_lines(errors, order))
    if values.main_program is None and not values.setup_commands:
        text = "neither mainProgram nor setupCommands is set: the job does nothing"
        warnings.append((last, text))
    return Generated(job.appwrapper(values, trainer=trainer), tuple(_lines(warnings, order)))


def _lines(findings: Iterable[tuple[Origin, Any]], order: Sequence[str]) -> list[str]:
    """Format findings as `FILE:LINE: TEXT`, sorted by file and line, options last."""

    def place(finding: tuple[Origin, Any]) -> tuple[int, int]:
        source, line = finding[0].source, finding[0].line
        return (order.index(source) if source in order else len(order), line or 0)

    return [f"{origin}: {text}" for origin, text in sorted(findings, key=place)]
