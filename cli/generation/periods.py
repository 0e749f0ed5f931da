"""Check fault-tolerance settings with the webhook's own table, and return annotations."""

from typing import Any

from cli.generation.nodes import Number
from shared.annotations import PERIODS, TABLE, AnnotationError
from shared.api.times import format_duration
from shared.config.fault_tolerance import FaultToleranceConfig

_BY_NAME = {each.name: each for each in TABLE}
_PERIOD_NAMES = {each.name for each in PERIODS}


def annotation_text(name: str, value: Any) -> str:
    """Return the annotation's value, with days converted to hours. Raises AnnotationError.

    A number is a retry limit or an exit code, never a duration. A list contains exit codes.
    """
    text = _text(name, value)
    parsed = _BY_NAME[name].parse(text, FaultToleranceConfig())
    if name in _PERIOD_NAMES and "d" in text:
        return format_duration(parsed)
    return text


def _text(name: str, value: Any) -> str:
    match value:
        case Number() as number if name in _PERIOD_NAMES:
            raise AnnotationError(f"has no unit: write {number}s for seconds, or {number}m, h or d")
        case str() as text:
            return str(text)
        case list() as items if name.endswith("ExitCodes"):
            return ",".join(_text(name, each) for each in items)
        case _:
            return ""  # the table rejects it with its own message
