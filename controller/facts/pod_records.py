"""Match error records of the store with pods, runs and containers. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from controller.facts.container_ends import ContainerEnd
from controller.facts.pods import Pod
from controller.facts.recorded_times import SECOND, instant
from worker.record import ErrorRecord

# The greatest plausible difference between the clocks of a node and of the API server.
PLAUSIBLE: Final = 5 * SECOND
_LONGEST_PRECISION: Final = 3600 * SECOND


def is_of_attempt(record: ErrorRecord, attempt: int) -> bool:
    """True unless the record names another attempt. An attempt 0 is unknown and matches all."""
    return not record.attempt or not attempt or record.attempt == attempt


def bound_to(
    records: Iterable[ErrorRecord], failed: Sequence[Pod], well: Sequence[Pod]
) -> tuple[dict[str, list[ErrorRecord]], list[ErrorRecord]]:
    """Return the records by their pods' UIDs, and the records of unknown pods.

    A record without a UID belongs to the newest pod of its name. A record with an unknown UID is
    ignored if a known pod has its name: the record's pod was replaced.
    """
    by_name = {pod.name: pod for pod in sorted([*failed, *well], key=_age)}
    uids, uids_of_well = {pod.uid for pod in failed}, {pod.uid for pod in well}
    bound: dict[str, list[ErrorRecord]] = {}
    unbound = []
    for record in records:
        namesake = by_name.get(record.worker)
        uid = record.pod_uid or (namesake.uid if namesake else "")
        if uid in uids:
            bound.setdefault(uid, []).append(record)
        elif namesake is None and uid not in uids_of_well:
            unbound.append(record)
    return bound, unbound


def _age(pod: Pod) -> tuple[str, str]:
    return pod.created, pod.uid


def is_of_its_run(record: ErrorRecord, pod: Pod) -> bool:
    """False for a record of an earlier run, of an earlier pod of that name, or of the deletion.

    A node's clock may be wrong: a record with the pod's UID counts, even if its time is before the
    pod's creation.
    """
    began = record.time_ns if record.started_ns is None else record.started_ns
    made = instant(pod.created)
    if began is not None and made is not None and began < made - PLAUSIBLE:
        return bool(record.pod_uid)
    starts = [at for each in pod.ends if (at := instant(each.started)) is not None]
    if began is not None and starts and began + precision(record) < min(starts):
        return False
    requested = instant(pod.deletion_requested_at)
    return record.time_ns is None or requested is None or record.time_ns < requested + SECOND


def latest(records: Sequence[ErrorRecord]) -> ErrorRecord | None:
    """Return the newest run's record; within one run, the earliest with a time."""
    if len(records) < 2:
        return records[0] if records else None  # as nearly always
    return min(records, key=_newest_first)


def _newest_first(record: ErrorRecord) -> tuple[int | bool | str, ...]:
    started = -1 if record.started_ns is None else record.started_ns
    return -started, record.time_ns is None, record.time_ns or 0, record.record_id, repr(record)


def writer_of(record: ErrorRecord, ends: Sequence[ContainerEnd]) -> ContainerEnd:
    """Return the end of the container that most likely wrote a record of the store."""

    def likeness(end: ContainerEnd) -> tuple[bool, bool, bool, bool]:
        own = end.record
        same = own is not None and bool(record.record_id) and own.record_id == record.record_id
        return same, own is not None, not end.init, end.exit_code == record.exit_code

    return max(ends, key=likeness)


def merged(reported: ErrorRecord | None, stored: ErrorRecord) -> tuple[ErrorRecord, bool]:
    """Return the record, and whether its text is the store's.

    The termination message may be cut; the store has the whole text. If the two are different
    records, the one of the newer run counts.
    """
    if reported is None:
        return stored, True
    if not (reported.record_id and reported.record_id == stored.record_id):
        newer = (stored.started_ns or 0) > (reported.started_ns or 0)
        return (stored, True) if newer else (reported, False)
    whole = replace(
        reported,
        code=stored.code or reported.code,
        message=stored.message or reported.message,
        time_ns=stored.time_ns if reported.time_ns is None else reported.time_ns,
        precision_ns=reported.precision_ns or stored.precision_ns,
        rank=stored.rank if reported.rank is None else reported.rank,
        exit_code=stored.exit_code if reported.exit_code is None else reported.exit_code,
        signal=stored.signal if reported.signal is None else reported.signal,
        uri=reported.uri or stored.uri,
    )
    return whole, bool(stored.message)


def precision(record: ErrorRecord) -> int:
    """Return how many nanoseconds after its time it happened at most; a record may be absurd."""
    return min(max(0, record.precision_ns), _LONGEST_PRECISION)
