"""Writes the files that the command ships: configurations and options."""

import json
import re
from pathlib import Path
from typing import Any, Final

from cli.shipped.data import FOLDER, OPTIONS, OVERLAYS
from shared.annotations import TABLE, Annotation, Period
from shared.api.times import format_duration
from shared.config.fault_tolerance import FaultToleranceConfig
from shared.config.loading import load_config

_UNIT: Final = "Duration"
_WORD: Final = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Usage text of options whose value is no period.
_METAVARS: Final = {
    "retryLimit": "N",
    "terminalExitCodes": "CODES",
    "retryableExitCodes": "CODES",
    "errorAggregation": "STRATEGY",
    "errorStore": "STORE",
}
_WHAT: Final = {
    "admissionGracePeriodDuration": "for the expected pods to exist",
    "warmupGracePeriodDuration": "for the expected pods to run",
    "failureGracePeriodDuration": "for a failure to heal by itself",
    "retryPausePeriodDuration": "between the removal of everything and its next creation",
    "deletionOnFailureGracePeriodDuration": "between Failed and the removal of what failed",
    "forcefulDeletionGracePeriodDuration": "before pods are deleted by force",
    "successTTLDuration": "that a success is kept",
    "retryLimit": "resets before it fails",
    "terminalExitCodes": "exit codes that fail it at once, such as 3,42",
    "retryableExitCodes": "the only exit codes that may be retried",
    "errorAggregation": "how the root cause is found: earliest, default or off",
    "errorStore": "a store of the operator's configuration for the errors of its pods",
}


def shipped_files(overlays: Path) -> dict[Path, str]:
    """Return the content of each file. The limits and defaults are those of overlay default."""
    files = {name: overlays / name / "config.yaml" for name in OVERLAYS}
    limits = load_config(files["default"]).config.appwrapper.fault_tolerance
    options = [_option(each, limits) for each in TABLE]
    copies = {FOLDER / f"{name}.yaml": file.read_text() for name, file in files.items()}
    return {FOLDER / OPTIONS: json.dumps(options, indent=1) + "\n", **copies}


def _option(annotation: Annotation[Any], config: FaultToleranceConfig) -> dict[str, str]:
    words = _WORD.findall(annotation.name.removesuffix(_UNIT))
    return {
        "option": "--" + "-".join(word.lower() for word in words),
        "key": annotation.key,
        "metavar": _METAVARS.get(annotation.name, "TIME"),
        "help": f"{_WHAT[annotation.name]}{_bounds(annotation, config)}",
    }


def _bounds(annotation: Annotation[Any], config: FaultToleranceConfig) -> str:
    default = annotation.default(config)
    if isinstance(annotation, Period):
        limit = format_duration(annotation.limit(config))
        return f" (default {format_duration(default)}, at most {limit})"
    return f" (default {default})" if default else ""
