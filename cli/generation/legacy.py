"""Ignore keys of older generators, with a warning that names today's key.

Since its first version 0.1.0 the MLBatch chart removed one key, bypassCoscheduler. The chart of
MCAD's own generator is not public. So the list has the settings of MCAD's AppWrappers (v1beta1),
by MCAD's names. They are ignored because the periods of the two controllers differ in meaning.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from cli.generation.parsed_values import Number, Origin, ParsedValues, Path, dotted
from shared.api.objects import JsonValue

# MCAD's mappings, which contain further keys of MCAD.
_GROUPS: Final = ("schedulingSpec", "requeuing", "dispatchDuration")

# MCAD's counts and seconds -> today's key and the unit of its values.
_SUCCESSORS: Final[Mapping[str, tuple[str, str]]] = {
    "maxNumRequeuings": ("retryLimit", ""),
    "timeInSeconds": ("warmupGracePeriodDuration", "s"),
    "pauseTimeInSeconds": ("retryPausePeriodDuration", "s"),
    "forceDeletionTimeInSeconds": ("forcefulDeletionGracePeriodDuration", "s"),
    "forcefulDeletionAfterSeconds": ("forcefulDeletionGracePeriodDuration", "s"),
}

# Keys without a successor -> the reason.
_GONE: Final[Mapping[str, str]] = {
    "minAvailable": "the AppWrapper controller expects every pod of the job",
    "growthType": "the pause between attempts does not grow",
    "maxTimeInSeconds": "the pause between attempts does not grow",
    "initialTimeInSeconds": "MCAD set it itself",
    "numRequeuings": "MCAD set it itself",
    "priorityslope": "the priority of a job does not grow while it waits",
    "prioritySlope": "the priority of a job does not grow while it waits",
    "completionstatus": "the controller knows when a PyTorchJob has succeeded",
}

_COSCHEDULER: Final = "bypassCoscheduler"
KEYS: Final = (_COSCHEDULER, *_GROUPS, *_SUCCESSORS, *_GONE)


def without_legacy_keys(root: ParsedValues) -> tuple[ParsedValues, list[tuple[Origin, str]]]:
    """Return the values without keys of older generators, and a warning for each."""
    warnings = [
        (root.origin(path), f"{dotted(path)}: ignored: {_advice(path, value)}")
        for key in root.value
        if key in KEYS
        for path, value in _leaves(root.value[key], (key,))
    ]
    kept = {key: value for key, value in root.value.items() if key not in KEYS}
    return ParsedValues(kept, root.origins), warnings


def _leaves(value: JsonValue, path: Path) -> Iterator[tuple[Path, JsonValue]]:
    """Yield the settings in MCAD's mappings. Any other mapping counts as one value."""
    if path[-1] in _GROUPS and isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, (*path, key))
    else:
        yield path, value


def _advice(path: Path, written: JsonValue) -> str:
    key = str(path[-1])
    if key == _COSCHEDULER:
        if written is True:
            return "a key of older charts; write schedulerName: default-scheduler"
        return "a key of older charts, which is no longer needed: remove it"
    if key in _SUCCESSORS:
        successor, unit = _SUCCESSORS[key]
        value = f"{written}{unit}" if isinstance(written, Number) else "VALUE"
        return f"a setting of MCAD; its successor is {successor}: write {successor}: {value}"
    reason = _GONE.get(key, "no controller reads it")
    return f"a setting of MCAD, without successor: {reason}"
