"""Read how the containers of a pod ended: exit codes, times and termination messages."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from sys import intern
from typing import Final

from controller.facts.error_text import last_part, log_reports_lost_peer
from controller.facts.recorded_times import SECOND, nanoseconds
from shared.api.conditions import condition
from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import JsonObject
from shared.api.times import format_time, parse_time
from worker.record import ErrorRecord
from worker.termination_message import find

KILLED: Final = frozenset({137, 143})  # by SIGKILL, by SIGTERM
# The kubelet reports this reason, the code 137 and no time for a container that it cannot find. If
# its pod is being deleted, the container has usually not been started: other pods failed earlier.
_NOT_FOUND: Final = "ContainerStatusUnknown"
# With a rule RestartAllContainers, the kubelet removes all containers of a pod and writes this
# reason, the code 137 and no time for each. How the program ended is lost, or it ran well.
_REMOVED: Final = "RestartingAllContainers"


# Ends that were caused by the pod's deletion.

# The API server counts a grace period in nanoseconds of 64 bits. A client may request any number of
# seconds, so the number may overflow.
_HALF: Final = 2**63


def deletion_requested(metadata: JsonObject) -> datetime | None:
    """Return the time of the deletion; the API server writes only when the grace period ends."""
    if "deletionTimestamp" not in metadata:
        return None
    grace = (metadata.get("deletionGracePeriodSeconds") or 0) * 1_000_000_000
    counted = (grace + _HALF) % (2 * _HALF) - _HALF
    return parse_time(metadata["deletionTimestamp"]) - timedelta(microseconds=counted // 1000)


def _was_killed(ended: JsonObject, deleted: datetime) -> bool:
    """True if the deletion ended it; for an end in the same second the exit code decides."""
    try:
        finished = parse_time(ended.get("finishedAt") or "")
    except ValueError:
        return ended.get("reason") == _NOT_FOUND
    return finished > deleted or (finished == deleted and ended["exitCode"] in KILLED)


def exit_codes(item: JsonObject) -> tuple[int, ...]:
    """Return the non-zero exit codes of a failed pod's containers, without init containers.

    Exit codes that a deletion caused are left out: if one pod of a Job fails, the Job controller
    deletes the others, which end by SIGTERM.
    """
    deleted = deletion_requested(item["metadata"])
    ended = [
        (each.get("state") or {}).get("terminated") or {}
        for each in (item.get("status") or {}).get("containerStatuses") or ()
    ]
    return tuple(
        each["exitCode"]
        for each in ended
        if each.get("exitCode")
        and each.get("reason") != _REMOVED
        and not (deleted and _was_killed(each, deleted))
    )


def failed_at(item: JsonObject) -> str:
    """Return when a failed pod failed by itself (RFC 3339), which is its first container's failure.

    Empty if a deletion ended it, unless the deletion was a disruption (a drain, a taint) or a
    container had recorded its error before. If no container ended (the kubelet rejected the pod,
    or its node is gone), return the time of its disruption, else of its start or creation.
    """
    metadata, status = item["metadata"], item.get("status") or {}
    deleted = deletion_requested(metadata)
    ended = [each for _, _, each in _terminated(status, ("state",)) if each.get("exitCode")]
    own = [each for each in ended if not (deleted and _was_killed(each, deleted))]
    if known := [finished for each in own if (finished := _time(each, "finishedAt"))]:
        return min(known)
    disrupted = condition(status.get("conditions") or (), "DisruptionTarget") or {}
    times = [disrupted.get("lastTransitionTime") if disrupted.get("status") == "True" else None]
    if deleted and not own:
        times += [each.finished for each in ends_of_failed(item)] if ended else []
    else:
        times += [status.get("startTime"), metadata.get("creationTimestamp")]
    return str(next(filter(None, times), ""))


# The kubelet writes 1970 if the container runtime knows no time. Kubernetes began in 2014.
_FIRST_YEAR: Final = "2014"


def _time(ended: JsonObject, field: str) -> str:
    text = str(ended.get(field) or "")
    return text if text >= _FIRST_YEAR else ""


def containers(status: JsonObject) -> Iterable[JsonObject]:
    """Yield the statuses of a pod's init containers, then of its containers."""
    for field in ("initContainerStatuses", "containerStatuses"):
        yield from status.get(field) or ()


# All ends of a pod's containers.

# If a pod has more failed containers, only the earliest ends remain: memory holds their messages.
_MOST_ENDS: Final = 8
# Twice what the kubelet keeps. Only the kubelet enforces its own limit.
_LONGEST_TEXT: Final = 8192
_LONGEST_WORD: Final = 48
# How long a controller may take to delete a pod after one of its containers ended.
_REACTION: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEnd:
    """A terminated state with a non-zero exit code.

    `message`: the log's tail or the program's own text, bounded, without control characters except
    line ends and tabs; empty if `record` holds its content. `peer_loss`: the message reports that
    another worker was lost. `init`: it is an init container.
    """

    container: str
    exit_code: int
    signal: int | None = None
    reason: str = ""  # Kubernetes' reason: Error, OOMKilled
    started: str = ""  # RFC 3339, whole seconds; empty if unknown
    finished: str = ""  # likewise
    message: str = ""
    peer_loss: bool = False
    record: ErrorRecord | None = None
    init: bool = False


def ends_of_failed(item: JsonObject) -> tuple[ContainerEnd, ...]:
    """Return the ends of a failed pod's containers, without ends that its deletion caused.

    If a container recorded its own error before the deletion and was slow to end (torchrun gives
    its processes 30 s), its end counts although the deletion caused it.
    """
    deleted = deletion_requested(item["metadata"])
    found = [
        end
        for end, ended in _ends(item, "state")
        if not (deleted and _was_killed(ended, deleted) and not _failed_before(end, deleted))
    ]
    return _earliest(found) or ends_before_deletion(item)


def ends_before_deletion(item: JsonObject) -> tuple[ContainerEnd, ...]:
    """Return the ends of containers that restarted just before their pod was deleted.

    A Job with restartPolicy OnFailure deletes the pod because of them; its backoffLimit may be 0.
    """
    deleted = deletion_requested(item["metadata"])
    if deleted is None:
        return ()
    since, until = format_time(deleted - _REACTION), format_time(deleted)
    ends = (end for end, _ in _ends(item, "lastState") if not end.init)
    return _earliest([end for end in ends if since <= end.finished <= until])


def ends_of_looping(item: JsonObject) -> tuple[ContainerEnd, ...]:
    """Return the latest ends of the containers of a running pod that crash in place."""
    return _earliest([end for end, _ in _ends(item, "state", "lastState") if not end.init])


def ends_of_stuck(item: JsonObject) -> tuple[ContainerEnd, ...]:
    """Return the latest ends of a pending pod's init containers that crash again and again."""
    status = item.get("status") or {}
    again = {
        each.get("name")
        for each in status.get("initContainerStatuses") or ()
        if (each.get("restartCount") or 0) > 1
    }
    if not again:
        return ()  # as nearly always
    ends = (end for end, _ in _ends(item, "state", "lastState") if end.init)
    return _earliest([end for end in ends if end.container in again])


def _ends(item: JsonObject, *fields: str) -> Iterator[tuple[ContainerEnd, JsonObject]]:
    """Yield the ends with a non-zero exit code, each with its terminated state."""
    for init, name, ended in _terminated(item.get("status") or {}, fields):
        if (end := _end(name, ended, init, item["metadata"])) is not None:
            yield end, ended


def _failed_before(end: ContainerEnd, deleted: datetime) -> bool:
    record = end.record
    if record is None or record.collateral or record.time_ns is None:
        return False
    return record.time_ns < nanoseconds(deleted) + SECOND


def _terminated(
    status: JsonObject, fields: tuple[str, ...]
) -> Iterable[tuple[bool, str, JsonObject]]:
    """Yield for each container whether it is an init container, its name, and how it ended."""
    for init, field in ((True, "initContainerStatuses"), (False, "containerStatuses")):
        for each in status.get(field) or ():
            states = ((each.get(name) or {}).get("terminated") for name in fields)
            if ended := next(filter(None, states), None):
                yield init, str(each.get("name") or ""), ended


def _end(
    container: str, ended: JsonObject, init: bool, metadata: JsonObject
) -> ContainerEnd | None:
    exit_code = ended.get("exitCode")
    if not exit_code or ended.get("reason") == _REMOVED:
        return None
    text = str(ended.get("message") or "")[-_LONGEST_TEXT:]
    record = find(text) if text else None
    if record is not None and not _is_own(record, metadata):
        record = None
    message = last_part(text) if record is None else ""
    return ContainerEnd(
        container=intern(container),
        exit_code=exit_code,
        signal=ended.get("signal") or None,
        reason=intern(_word(ended)),
        started=intern(_time(ended, "startedAt")),
        finished=intern(_time(ended, "finishedAt")),
        message=message,
        peer_loss=bool(message) and log_reports_lost_peer(message),
        record=record,
        init=init,
    )


def _word(ended: JsonObject) -> str:
    """Return the reason; empty if it is no plain word: any client may write a pod's status."""
    text = str(ended.get("reason") or "")
    return text if len(text) <= _LONGEST_WORD and text.isascii() and text.isalnum() else ""


def _is_own(record: ErrorRecord, metadata: JsonObject) -> bool:
    """False for the record of another pod or attempt, which a log may quote.

    A launcher prints its workers' output, and a program may print its output of an earlier failure.
    """
    if record.pod_uid not in ("", metadata["uid"]):
        return False
    attempt = (metadata.get("labels") or {}).get(LABEL_ATTEMPT, "")
    return not record.attempt or attempt in ("", str(record.attempt))


def _earliest(found: list[ContainerEnd]) -> tuple[ContainerEnd, ...]:
    if len(found) > _MOST_ENDS:
        found = sorted(found, key=lambda each: (each.finished, each.container))[:_MOST_ENDS]
    return tuple(found)
