"""The progress of an AppWrapper in one line, from its own status. Pure."""

from dataclasses import dataclass
from typing import Final

from cli.phases import shown_phase
from controller.facts.root_cause_status import decode
from controller.phases.root_cause import summary
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition, is_true
from shared.api.lines import one_line
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_UNHEALTHY,
)

_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """`stage`: what a new line is worth. The text of one stage may change many times."""

    stage: tuple[object, ...]
    text: str


def progress(appwrapper: AppWrapper) -> ProgressLine:
    """Return the line for an AppWrapper as it is now."""
    phase = shown_phase(appwrapper)
    unhealthy = is_true(appwrapper.conditions, CONDITION_UNHEALTHY)
    ready = is_true(appwrapper.conditions, CONDITION_PODS_READY)
    text = _text(appwrapper, phase, unhealthy=unhealthy, ready=ready)
    stage: tuple[object, ...] = (phase, appwrapper.attempt, unhealthy, ready)
    return ProgressLine(stage, one_line(f"{appwrapper.name} {text}", _LONGEST))


def first_failure(appwrapper: AppWrapper) -> str:
    """Return the root cause of the last failed attempt, "" without one."""
    found = decode(appwrapper.status)
    return (
        "" if found is None else f"first failure of attempt {found.attempt}: {summary(found.cause)}"
    )


# By phase, except Running: the text, and the condition that explains it.
_TEXTS: Final = {
    "": ("is created", ""),
    "Suspended": ("waits for its quota", CONDITION_QUOTA_RESERVED),
    "Resuming": ("has its quota, and starts (attempt {})", ""),
    "Resetting": ("is reset (attempt {})", CONDITION_UNHEALTHY),
    "Suspending": ("is preempted or suspended (attempt {})", ""),
    "Succeeded": ("succeeded", ""),
    "Failed": ("failed (attempt {})", CONDITION_UNHEALTHY),
}
_DELETED: Final = ("is being deleted", "")


def _text(appwrapper: AppWrapper, phase: str, *, unhealthy: bool, ready: bool) -> str:
    text, kind = _TEXTS.get(phase, _DELETED)
    if phase == "Running":
        text, kind = "runs (attempt {})", CONDITION_PODS_READY
        if unhealthy:
            text, kind = "is unhealthy (attempt {})", CONDITION_UNHEALTHY
        elif ready:
            text, kind = "runs, and all of its pods are ready (attempt {})", ""
    return _with(text.format(appwrapper.attempt), appwrapper, kind)


def _with(text: str, appwrapper: AppWrapper, kind: str) -> str:
    """Add the message of a condition."""
    found = condition(appwrapper.conditions, kind) or {}
    message = str(found.get("message") or "")
    return f"{text}: {message}" if message else text
