"""Fault-tolerance settings as annotations, checked by the table that the webhook reads."""

from cli.generation.nodes import Node, Number
from shared.annotations import PERIODS, TABLE, AnnotationError
from shared.api.times import format_duration
from shared.config.fault_tolerance import FaultToleranceConfig

_BY_NAME = {each.name: each for each in TABLE}
_PERIOD_NAMES = {each.name for each in PERIODS}


def annotation_text(name: str, node: Node) -> str:
    """The annotation's value; days are written as hours. Raises AnnotationError.

    A number is a retry limit or an exit code, never a duration; a list holds exit codes.
    """
    text = _text(name, node)
    parsed = _BY_NAME[name].parse(text, FaultToleranceConfig())
    if name in _PERIOD_NAMES and "d" in text:
        return format_duration(parsed)
    return text


def _text(name: str, node: Node) -> str:
    match node.value:
        case Number() as number if name in _PERIOD_NAMES:
            raise AnnotationError(f"has no unit: write {number}s for seconds, or {number}m, h or d")
        case str() as text:
            return str(text)
        case list() as items if name.endswith("ExitCodes"):
            return ",".join(_text(name, each) for each in items)
        case _:
            return ""  # which the table refuses, in its own words
