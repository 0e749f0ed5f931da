"""Kueue's own messages as details of an answer. Pure."""

from typing import Any

from cli.explaining.answers.case import Case
from cli.explaining.report import CommandHint
from controller.reports.reason import Reason
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.waits.queueing import without_kueues_reason
from shared.waits.workload import (
    last_eviction,
)


def evictions(case: Case) -> tuple[str, ...]:
    told = case.moment.told(CONDITION_QUOTA_RESERVED)
    timed_out = told.reason == Reason.PODS_READY_TIMEOUT
    own = (without_kueues_reason(told.message),) if timed_out else ()
    words = last_eviction(case.queue.workload) if case.queue.workload else None
    if words is None:
        return own
    at = f" at {case.when(words.since)}" if words.since else ""
    return (f"Kueue took its quota back{at} ({words.reason}): {words.message}", *own)


def queue_commands(case: Case) -> tuple[CommandHint, ...]:
    if not (workload := case.queue.workload):
        return ()
    name = workload["metadata"]["name"]
    return (case.kubectl(f"describe workload {name}", "what Kueue decided, and when"),)


def kueues_words(case: Case) -> tuple[str, ...]:
    words = case.queue.words
    return kueue_says(words.reason, words.message) if words else ()


def kueue_says(reason: Any, message: Any) -> tuple[str, ...]:
    return (f"Kueue reports ({reason}): {message}",) if message else ()
