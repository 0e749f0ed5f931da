"""Kueue's own messages as details of an answer. Pure."""

from typing import Final

from cli.explaining.case import Case
from cli.explaining.history import own_events
from cli.explaining.report import CommandHint
from controller.reports.reason import Reason
from shared.api.lines import one_line
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.api.objects import JsonObject
from shared.waits.queueing import without_kueues_reason
from shared.waits.workload import last_eviction, was_held

# The name under which Kueue reports events about AppWrappers ends so.
_KUEUES_RECORDER: Final = "-kueue-controller"
_LONGEST: Final = 600


def evictions(case: Case) -> tuple[str, ...]:
    """Return Kueue's reason for the last eviction, and the controller's message about it."""
    reported = case.reported(CONDITION_QUOTA_RESERVED)
    timed_out = reported.reason == Reason.PODS_READY_TIMEOUT
    own = (without_kueues_reason(reported.message),) if timed_out else ()
    eviction = last_eviction(case.queue.workload) if case.queue.workload else None
    if case.queue.workload is None or eviction is None or was_held(case.queue.workload):
        return own
    at = f" at {case.when(eviction.since)}" if eviction.since else ""
    return (f"Kueue took its quota back{at} ({eviction.reason}): {eviction.message}", *own)


def queue_commands(case: Case) -> tuple[CommandHint, ...]:
    if not (workload := case.queue.workload):
        return ()
    name = workload["metadata"]["name"]
    return (case.kubectl(f"describe workload {name}", "what Kueue decided, and when"),)


def kueue_warning(case: Case) -> str:
    """Return Kueue's last Warning about the AppWrapper itself, as `reason: message`, else ""."""
    for event in reversed(own_events(case)):
        if event.get("type") == "Warning" and _is_of_kueue(event):
            message = one_line(str(event.get("message") or ""), _LONGEST)
            return f"{event.get('reason')}: {message}"
    return ""


def _is_of_kueue(event: JsonObject) -> bool:
    source = event.get("reportingComponent") or (event.get("source") or {}).get("component")
    return str(source or "").endswith(_KUEUES_RECORDER)


def kueue_messages(case: Case) -> tuple[str, ...]:
    """Return why the Workload is pending."""
    pending = case.queue.pending_reason
    if pending is None or not pending.message:
        return ()
    return (f"Kueue reports ({pending.reason}): {pending.message}",)
