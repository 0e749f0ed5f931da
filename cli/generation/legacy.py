"""Ignore keys of older generators, with a warning that names today's key.

Since its first version 0.1.0 the MLBatch chart removed one key, bypassCoscheduler. The chart of
MCAD's own generator is not public. So the list has the settings of MCAD's AppWrappers (v1beta1),
by MCAD's names. They are ignored because the periods of the two controllers differ in meaning.
"""

from collections.abc import Iterator
from typing import Any, Final

from cli.generation.parsed_values import Number, Origin, ParsedValues, Path, dotted

# MCAD's mappings, which contain further keys of MCAD.
_GROUPS: Final = ("schedulingSpec", "requeuing", "dispatchDuration")
# Key -> today's key with the value in its unit, "" if there is none.
_SUCCESSORS: Final = {
    "bypassCoscheduler": "schedulerName: default-scheduler",
    **dict.fromkeys(_GROUPS, ""),
    "maxNumRequeuings": "retryLimit: {}",
    "timeInSeconds": "warmupGracePeriodDuration: {}s",
    "pauseTimeInSeconds": "retryPausePeriodDuration: {}s",
    "forceDeletionTimeInSeconds": "forcefulDeletionGracePeriodDuration: {}s",
    "forcefulDeletionAfterSeconds": "forcefulDeletionGracePeriodDuration: {}s",
    **dict.fromkeys(("minAvailable", "growthType", "maxTimeInSeconds", "initialTimeInSeconds"), ""),
    **dict.fromkeys(("numRequeuings", "priorityslope", "prioritySlope", "completionstatus"), ""),
}
KEYS: Final = tuple(_SUCCESSORS)


def without_legacy_keys(root: ParsedValues) -> tuple[ParsedValues, list[tuple[Origin, str]]]:
    """Return the values without keys of older generators, and a warning for each."""
    warnings = []
    for key in (each for each in root.value if each in KEYS):
        for path, value in _settings(root.value[key], (key,)):
            successor = _SUCCESSORS.get(str(path[-1]), "")
            if isinstance(value, Number):
                successor = successor.format(value)
            if path[-1] == "bypassCoscheduler" and value is not True:
                successor = ""  # the scheduler stays
            named = successor.partition(": {}")[0]
            advice = f"write {named}" if named else "it has no successor"
            text = f"{dotted(path)}: ignored: a key of an older generator; {advice}"
            warnings.append((root.origin(path), text))
    kept = {key: value for key, value in root.value.items() if key not in KEYS}
    return ParsedValues(kept, root.origins), warnings


def _settings(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the settings in MCAD's mappings. Any other mapping counts as one value."""
    if path[-1] in _GROUPS and isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _settings(each, (*path, key))
    else:
        yield path, value
