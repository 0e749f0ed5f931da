"""Gather the evidence of each failed pod: its container's end, its record, its time. Pure.

The kubelet reports the pod, the container and the exit code. A record holds the program's error and
its time. A record is in the termination message, in the error store, or in both.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final

from controller.facts.container_ends import KILLED, ContainerEnd
from controller.facts.error_text import names_an_error
from controller.facts.pod_reasons import OOM_KILLED, TELLS_NOTHING, proof_of
from controller.facts.pod_records import (
    PLAUSIBLE,
    bound_to,
    is_of_attempt,
    is_of_its_run,
    latest,
    merged,
    precision,
    writer_of,
)
from controller.facts.pods import Pod
from controller.facts.recorded_times import NEVER, SECOND, instant, nanoseconds
from worker.error_texts import is_peer_loss
from worker.record import ErrorRecord

UNHEALTHY_NODE: Final = "UnhealthyNode"  # Autopilot's labels mark it as bad
# Reasons of the kubelet and of containerd for a container that is gone when they restart.
_CONTAINER_IS_LOST: Final = frozenset({"ContainerStatusUnknown", "Unknown"})
_SIGKILL: Final = 137
_ONLY_EXIT_CODE: Final = "EXIT_"  # the recorder saw no error, only how the program ended
_NAME: Final = re.compile(r"[a-z0-9][-.a-z0-9]{0,252}")  # of a pod
_SIGNALS: Final = range(129, 193)  # exit codes that mean a signal


class EvidenceKind(IntEnum):
    """The kind of a failure. Among failures at one time the smallest kind is the root cause."""

    INFRASTRUCTURE = 0  # out of memory, evicted, on a bad node
    OWN_ERROR = 1
    SIGNAL = 2
    PEER_LOSS = 3  # the text reports that another worker left
    EXIT_CODE = 4


class Looks(Enum):
    """Whether a failure looks like the consequence of another one."""

    OWN = "own"
    KILLED = "killed"  # by SIGKILL, without a reason
    TERMINATED = "terminated"  # by SIGTERM, without a reason
    LOST_PEER = "lost peer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One failure of one pod.

    It happened in [earliest, latest], in nanoseconds since the epoch; both NEVER if unknown.
    `finished`: when its container ended, if the kubelet reports it, else `earliest`.
    `recorded_time`: the program recorded a plausible time. `clock_suspect`: it recorded an
    implausible one. `pod` is None if only a record is known. `from_store`: the record's text is
    the store's. `cause`: Kubernetes' reason for the failure of the whole pod. `infrastructure` is
    empty if the infrastructure was not the cause.
    """

    pod: Pod | None
    end: ContainerEnd | None = None
    record: ErrorRecord | None = None
    from_store: bool = False
    earliest: int = NEVER
    latest: int = NEVER
    finished: int = NEVER
    recorded_time: bool = False
    clock_suspect: bool = False
    cause: str = ""
    infrastructure: str = ""

    @property
    def name(self) -> str:
        """Return the pod's name, or a valid name from the record; else empty."""
        if self.pod is not None:
            return self.pod.name
        return self.record.worker if self.record and _NAME.fullmatch(self.record.worker) else ""

    @property
    def exit_code(self) -> int | None:
        """Return the exit code; the kubelet's takes precedence over the record's."""
        if self.end is not None:
            return self.end.exit_code
        if self.pod is not None and self.pod.exit_codes:
            return self.pod.exit_codes[0]
        return self.record.exit_code if self.record else None

    @property
    def signal(self) -> int | None:
        """Return the signal from the record, the container's state or the exit code."""
        reported = [self.record and self.record.signal, self.end and self.end.signal]
        code = self.exit_code
        if self.record is None and code is not None and code in _SIGNALS:
            reported.append(code - _SIGNALS.start + 1)
        return next((each for each in reported if each), None)

    @property
    def word(self) -> str:
        """Return Kubernetes' reason; empty if it adds nothing to the exit code."""
        own = self.end.reason if self.end else ""
        return self.cause if own in TELLS_NOTHING else own

    @property
    def is_collateral(self) -> bool:
        """True if the recorder reports a termination before any failure of the worker itself."""
        return self.record is not None and self.record.collateral

    @property
    def is_forced(self) -> bool:
        """True if Kubernetes reports why it ended: out of memory, evicted, on a bad node."""
        return bool(self.infrastructure) or self.word == OOM_KILLED

    @property
    def kind(self) -> EvidenceKind:
        """Return the kind. Costly: it may search the texts."""
        if self.is_forced:
            return EvidenceKind.INFRASTRUCTURE
        if self._says_peer_loss():
            return EvidenceKind.PEER_LOSS
        if self.signal is not None:
            return EvidenceKind.SIGNAL
        return EvidenceKind.OWN_ERROR if self._says_own_error() else EvidenceKind.EXIT_CODE

    @property
    def looks(self) -> Looks:
        """Return whether it looks like the consequence of another failure. It may be costly."""
        if self.is_forced:
            return Looks.OWN
        if self._says_peer_loss():
            return Looks.LOST_PEER
        lost = self.end is not None and self.end.reason in _CONTAINER_IS_LOST
        if self.record is not None or self.word or lost or self.exit_code not in KILLED:
            return Looks.OWN
        return Looks.KILLED if self.exit_code == _SIGKILL else Looks.TERMINATED

    @property
    def is_reported_late(self) -> bool:
        """True if Kubernetes reports the failure with a delay, as after the loss of a node."""
        lost = self.end is not None and self.end.reason in _CONTAINER_IS_LOST
        return lost or proof_of(self.infrastructure).late

    def _says_peer_loss(self) -> bool:
        if self.record is not None:
            return is_peer_loss(f"{self.record.code} {_looked_at(self.record.message)}")
        return self.end is not None and self.end.peer_loss

    def _says_own_error(self) -> bool:
        if self.record is not None:
            text = self.record.message or self.record.code
            return bool(text) and not self.record.code.startswith(_ONLY_EXIT_CODE)
        return bool(self.word) or (self.end is not None and names_an_error(self.end.message))


_HEAD: Final = 256
_TAIL: Final = 1280


def _looked_at(text: str) -> str:
    """Cut the middle out of a long text, as a thousand workers may fail at once."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The attempt. `number` is 0 if attempts are not counted.

    A plausible time is at most `PLAUSIBLE` before the pod's creation, and at most `soon`.
    `tainted`: by UID of a pod, the tainted device that it held, as text.
    """

    soon: int
    number: int = 0
    flagged_nodes: Collection[str] = ()
    tainted: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def at(
        cls,
        now: datetime,
        number: int,
        flagged_nodes: Collection[str],
        tainted: Mapping[str, str] = MappingProxyType({}),
    ) -> "Attempt":
        soon = nanoseconds(now) + PLAUSIBLE
        return cls(soon=soon, number=number, flagged_nodes=flagged_nodes, tainted=tainted)


def gather_evidence(
    failed: Iterable[Pod], others: Iterable[Pod], records: Iterable[ErrorRecord], attempt: Attempt
) -> tuple[list[tuple[Evidence, ...]], list[ErrorRecord]]:
    """Return the evidence of each failed pod, and the records of unknown pods, in any order.

    `others`: the attempt's pods that did not fail or were replaced; their records are ignored. Pods
    that a deletion ended are ignored too.
    """
    pods = {pod.uid: pod for pod in failed}
    well = [pod for pod in others if pod.uid not in pods]
    current = [each for each in records if is_of_attempt(each, attempt.number)]
    bound, unbound = bound_to(current, list(pods.values()), well) if current else ({}, [])
    evidence = (_of_pod(pod, bound.get(uid, []), attempt) for uid, pod in pods.items())
    return [each for each in evidence if each], unbound


def evidence_of(record: ErrorRecord, attempt: Attempt) -> Evidence:
    """Return the evidence of a record whose pod is unknown."""
    known = record.time_ns is not None and 0 <= record.time_ns <= attempt.soon
    span = _recorded_span(record) if known else (NEVER, NEVER)
    return Evidence(
        pod=None,
        record=record,
        from_store=True,
        earliest=span[0],
        latest=span[1],
        finished=span[0],
        recorded_time=known,
        clock_suspect=record.time_ns is not None and not known,
    )


def _of_pod(pod: Pod, stored: Sequence[ErrorRecord], attempt: Attempt) -> tuple[Evidence, ...]:
    """Return the evidence of each container that ended by itself; as a rule there is one."""
    known = latest([each for each in stored if is_of_its_run(each, pod)])
    if not pod.ends:
        is_evidence = known is not None or pod.failed_at
        return (_judged(pod, None, known, True, attempt),) if is_evidence else ()
    owner = None if known is None else writer_of(known, pod.ends)
    found = []
    for end in pod.ends:
        record, from_store = end.record, False
        if known is not None and end is owner:
            record, from_store = merged(end.record, known)
        found.append(_judged(pod, end, record, from_store, attempt))
    return tuple(found)


# When it failed, and whether the infrastructure was the cause.


def _judged(
    pod: Pod, end: ContainerEnd | None, record: ErrorRecord | None, from_store: bool, at: Attempt
) -> Evidence:
    time_ns = None if record is None else record.time_ns
    suspect = time_ns is not None and not _is_plausible(time_ns, pod, at)
    recorded = time_ns is not None and not suspect
    second = _finished_span(pod, end, at)
    earliest, latest = _recorded_span(record) if record and recorded else second
    cause = _cause(pod, latest)
    return Evidence(
        pod=pod,
        end=end,
        record=record,
        from_store=from_store and record is not None,
        earliest=earliest,
        latest=latest,
        finished=earliest if second[0] == NEVER else second[0],
        recorded_time=recorded,
        clock_suspect=suspect,
        cause=cause,
        infrastructure=_infrastructure(pod, cause, at),
    )


def _is_plausible(time: int, pod: Pod, at: Attempt) -> bool:
    """True unless the time is before the pod's creation or in the future."""
    made = instant(pod.created)
    if made is not None and time < made - PLAUSIBLE:
        return False
    return time <= at.soon


def _recorded_span(record: ErrorRecord) -> tuple[int, int]:
    at = record.time_ns
    return (NEVER, NEVER) if at is None else (at, at + precision(record))


def _finished_span(pod: Pod, end: ContainerEnd | None, at: Attempt) -> tuple[int, int]:
    """Return the second that the kubelet reports; for a whole pod it may be that of its start."""
    time = instant(pod.failed_at if end is None else end.finished)
    if time is None or not _is_plausible(time, pod, at):
        return NEVER, NEVER
    return time, time + SECOND - 1


def _cause(pod: Pod, failed: int) -> str:
    """Return the pod's cause unless it is a container's reason, or came after the failure.

    A failed pod remains for FailureGracePeriod, and an admin may drain its node meanwhile.
    """
    if not pod.cause or any(end.reason == pod.cause for end in pod.ends):
        return ""
    requested = instant(pod.deletion_requested_at) if proof_of(pod.cause).deletes else None
    is_later = requested is not None and failed + PLAUSIBLE < requested
    return "" if is_later else pod.cause


def _infrastructure(pod: Pod, cause: str, at: Attempt) -> str:
    if proof_of(cause).infrastructure:
        return cause
    if device := at.tainted.get(pod.uid):
        return device
    return UNHEALTHY_NODE if pod.node and pod.node in at.flagged_nodes else ""
