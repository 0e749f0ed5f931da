"""Ends the workers of one attempt as their kubelets and their recorders report it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import JsonObject
from shared.api.times import format_time, parse_time
from worker import error_document, termination_message
from worker.record import USER, ErrorRecord

_BUDGET: Final = 4096  # of a pod with one container


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a worker ends, `after` seconds from the moment at which all of them ran.

    `record` is its recorder's, without time and identity; without one, `message` is the termination
    message, such as the end of the log. `dated`: the record has a time. `recorded_after` is that
    time, if it differs from `after`.
    """

    after: float = 0.0
    code: int = 1
    reason: str = "Error"
    message: str = ""
    record: ErrorRecord | None = None
    dated: bool = True
    recorded_after: float | None = None


def raised(text: str, *, recoverable: bool = False, **known: Any) -> ErrorRecord:
    """Builds the recorder's record of an exception, as in `ValueError: bad shard`."""
    return ErrorRecord(
        code=known.pop("code", text.partition(":")[0]),
        message=text,
        recoverable=recoverable,
        origin=known.pop("origin", USER),
        exit_code=known.pop("exit_code", 1),
        **known,
    )


class Workers:
    """The pods of one attempt, by name, all of which ran at `base`."""

    def __init__(self, pods: Sequence[JsonObject]) -> None:
        self.pods = pods
        self.base = max(map(_started, pods))

    @property
    def attempt(self) -> int:
        """Returns the number of the attempt."""
        return int(self.pods[0]["metadata"]["labels"][LABEL_ATTEMPT])

    def name(self, index: int) -> str:
        """Returns the pod's name."""
        return str(self.pods[index]["metadata"]["name"])

    def node(self, index: int) -> str:
        """Returns the node on which it ran."""
        return str(self.pods[index]["spec"]["nodeName"])

    def moment(self, after: float) -> datetime:
        """Returns the moment so many seconds after all of them ran."""
        return self.base + timedelta(seconds=after)

    def record(self, index: int, end: End) -> ErrorRecord:
        """Returns its recorder's record, with time and identity. The end must have one."""
        assert end.record is not None
        after = end.after if end.recorded_after is None else end.recorded_after
        return replace(
            end.record,
            time_ns=_nanoseconds(self.moment(after)) if end.dated else None,
            worker=self.name(index),
            pod_uid=self.pods[index]["metadata"]["uid"],
            attempt=self.attempt,
            started_ns=_nanoseconds(self.base),
            record_id=f"{self.name(index)}-{self.attempt}",
        )

    def ended(self, index: int, end: End) -> JsonObject:
        """Returns the status that its kubelet writes."""
        message = end.message
        if end.record is not None:
            message = termination_message.encode(self.record(index, end), _BUDGET).decode()
        terminated = {
            "exitCode": end.code,
            "reason": end.reason,
            "startedAt": format_time(self.base),
            "finishedAt": format_time(self.moment(end.after).replace(microsecond=0)),
            **({"message": message} if message else {}),
        }
        (container,) = self.pods[index]["status"]["containerStatuses"]
        ended = {**container, "ready": False, "state": {"terminated": terminated}}
        return {"phase": "Failed", "containerStatuses": [ended]}


def leave(folder: Path, record: ErrorRecord, name: str = "") -> Path:
    """Writes a record's file as the recorder does."""
    file = folder / (name or f"error-{record.worker}.pb")
    file.write_bytes(error_document.encode(record))
    return file


def _started(item: JsonObject) -> datetime:
    (container,) = item["status"]["containerStatuses"]
    return parse_time(container["state"]["running"]["startedAt"])


def _nanoseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
