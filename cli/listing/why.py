"""The shortest true reason why an AppWrapper is not running, from its own status. Pure.

The controller's messages have the reason. This module chooses the message of the phase and omits
facts of other columns.
"""

import re
from datetime import datetime, timedelta
from typing import Final

from cli.durations import span
from cli.holds import held_text
from cli.phases import shown_phase
from controller.reports.pods_ready import attempt_announced
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition, is_true
from shared.api.lines import one_line
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.waits.queueing import kueues_reason

_LONGEST: Final = 1000
# A running controller sets the first phase within a second.
_CONTROLLER_PATIENCE: Final = timedelta(seconds=20)
_FLAVORS: Final = re.compile(r"^couldn't assign flavors to pod set [^\s:]+: (?=[^:]*$)")
_DELETES: Final = "its components are being deleted"


def why(appwrapper: AppWrapper, pending: str, created: datetime, now: datetime) -> str:
    """Return one line; "" if nothing is wrong. `pending`: Kueue's reason in the Workload."""
    if not appwrapper.is_ours:
        return f"managed by {appwrapper.spec.get('managedBy')}"
    match shown_phase(appwrapper):
        case "":
            late = now - created >= _CONTROLLER_PATIENCE
            text = "no controller has seen it" if late else ""
        case "Suspended":
            text = _waits(appwrapper, pending)
        case "Resuming":
            reason, message = _reported(appwrapper, CONDITION_RESOURCES_DEPLOYED)
            refused = reason in (Reason.CREATE_FAILED, Reason.NAMESPACE_ENDING)
            text = message if refused else "its components are being created"
        case "Running":
            text = _runs(appwrapper)
        case "Resetting":
            text = _is_reset(appwrapper, now)
        case "Suspending" if appwrapper.held:
            text = f"{held_text(appwrapper)}: {blocked(appwrapper) or _DELETES}"
        case "Suspending" | "Terminating":
            text = blocked(appwrapper) or _DELETES
        case "Failed":
            text = _failed(appwrapper)
        case _:
            text = ""
    return one_line(text, _LONGEST)


def _waits(appwrapper: AppWrapper, pending: str) -> str:
    if appwrapper.held:
        return held_text(appwrapper)
    if is_true(appwrapper.conditions, CONDITION_QUOTA_RESERVED) or not appwrapper.suspend:
        return ""
    if not appwrapper.queue_name:
        return "suspended by its user (spec.suspend: true)"
    _, message = _reported(appwrapper, CONDITION_QUOTA_RESERVED)
    return _FLAVORS.sub("", kueues_reason(message) or pending or message) or "waits for Kueue"


def _runs(appwrapper: AppWrapper) -> str:
    reason, message = _reported(appwrapper, CONDITION_RESOURCES_DEPLOYED)
    if reason == Reason.NAMESPACE_ENDING:
        return message or "its namespace is being deleted"
    for kind, trouble in ((CONDITION_UNHEALTHY, True), (CONDITION_PODS_READY, False)):
        reason, message = _reported(appwrapper, kind)
        if reason and is_true(appwrapper.conditions, kind) is trouble:
            return message or ("its pods start" if reason == Reason.RESUMING else reason)
    return ""


def _is_reset(appwrapper: AppWrapper, now: datetime) -> str:
    _, message = _reported(appwrapper, CONDITION_PODS_READY)
    announced = attempt_announced(message)
    if announced is None:
        deletes = is_true(appwrapper.conditions, CONDITION_DELETING_RESOURCES)
        return (
            blocked(appwrapper) or message or (_DELETES if deletes else "another attempt follows")
        )
    retries, begins = announced
    at = f"in {span(begins - now)}" if begins > now else "now"
    return f"attempt {appwrapper.attempt + 1} begins {at}; {retries} retries spent"


def _failed(appwrapper: AppWrapper) -> str:
    cause = appwrapper.status.get("rootCause")
    if isinstance(cause, dict) and (text := cause.get("summary") or cause.get("message")):
        return str(text).strip().partition("\n")[0]
    reason, message = _reported(appwrapper, CONDITION_UNHEALTHY)
    return message or reason


def blocked(appwrapper: AppWrapper) -> str:
    """Return what blocks the deletion; "" if nothing does."""
    reason, message = _reported(appwrapper, CONDITION_DELETING_RESOURCES)
    return message if reason == Reason.DELETION_BLOCKED else ""


def _reported(appwrapper: AppWrapper, kind: str) -> tuple[str, str]:
    found = condition(appwrapper.conditions, kind) or {}
    return str(found.get("reason") or ""), str(found.get("message") or "")
