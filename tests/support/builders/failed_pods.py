"""Builds failed pods, as the API server shows them and as the controller remembers them."""

from datetime import UTC, datetime
from typing import Any

from controller.facts.error_store import StoreRead
from controller.facts.pods import Pod, project_pod
from controller.facts.root_causes import find_root_cause
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import FaultTolerance
from shared.api.objects import JsonObject
from worker.record import USER, ErrorRecord
from worker.termination_message import encode

CREATED = "2026-01-01T10:00:00Z"
BEGAN = 1_767_261_600_000_000_000  # the same time, in nanoseconds since the epoch
SECOND = 1_000_000_000
NOW = datetime(2026, 1, 1, 10, 5, tzinfo=UTC)


def at(seconds: float) -> int:
    """Returns nanoseconds since the epoch, `seconds` after the pods were created."""
    return BEGAN + round(seconds * SECOND)


def clock(second: int) -> str:
    """Formats the same time as the kubelet does; below an hour."""
    return f"2026-01-01T10:{second // 60:02}:{second % 60:02}Z"


def record(seconds: float | None = 10, **fields: Any) -> ErrorRecord:
    """Builds the recorder's record of an unclassified exception."""
    time_ns = None if seconds is None else at(seconds)
    defaults = {"message": "ValueError: bad shard", "code": "USER:ValueError", "origin": USER}
    return ErrorRecord(time_ns=time_ns, **{**defaults, **fields})


def termination_message(what: ErrorRecord) -> str:
    """Returns the termination message with that record."""
    return encode(what, 4096).decode()


def terminated(code: int, finished: int | None, message: str = "", **fields: Any) -> JsonObject:
    """Builds a container's state."""
    state = {"exitCode": code, "reason": "Error", "startedAt": clock(1), "message": message}
    if finished is not None:
        state["finishedAt"] = clock(finished)
    return {"terminated": {**state, **fields}}


def failed_item(
    name: str,
    code: int = 1,
    finished: int | None = 10,
    message: str = "",
    *,
    metadata: JsonObject | None = None,
    status: JsonObject | None = None,
    **state: Any,
) -> JsonObject:
    """Builds a failed pod with one container, as the API server shows it."""
    ended = {"name": "main", "state": terminated(code, finished, message, **state)}
    return {
        "metadata": {
            "namespace": "team1",
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": CREATED,
            **(metadata or {}),
        },
        "spec": {"nodeName": f"n-{name}", "restartPolicy": "Never"},
        "status": {"phase": "Failed", "containerStatuses": [ended], **(status or {})},
    }


def failed_pod(name: str, *positional: Any, **named: Any) -> Pod:
    """Builds the same pod as the controller remembers it."""
    return project_pod(failed_item(name, *positional, **named))


def recorded_pod(name: str, what: ErrorRecord, code: int = 1, finished: int = 12) -> Pod:
    """Builds a failed pod whose recorder left a record."""
    return failed_pod(name, code, finished, termination_message(what))


def found(failed: list[Pod], *records: ErrorRecord, **named: Any) -> RootCause | None:
    """Returns the root cause of the first attempt, five minutes after its pods were created."""
    config = named.pop("config", FaultTolerance())
    store = StoreRead(records=records) if records else None
    return find_root_cause(failed, config, **{"store": store, "attempt": 1, "now": NOW, **named})


def sure(cause: RootCause | None) -> RootCause:
    """Asserts that there is a root cause, and returns it."""
    assert cause is not None
    return cause
