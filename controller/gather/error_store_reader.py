"""Read the error records of an attempt, once, while a decision waits for them.

Each store has its own threads, so a store that does not answer delays no pass: `read` returns at
once, and `wake` is called when the records are read.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from threading import Event
from typing import Final

import prometheus_client
from prometheus_client import CollectorRegistry

from controller.facts.error_store import StoreRead, records_uri
from controller.gather.daemon_threads import DaemonThreads
from controller.gather.record_files import Entry, Folder, Listing, RecordFiles, files_at
from shared.api.appwrapper import AppWrapper
from shared.api.times import format_duration
from shared.config.fault_tolerance import ErrorAggregation
from shared.config.store_urls import DRIVERS, scheme_of
from shared.config.values import format_size
from shared.kube.events import EventRecorder, ObjectReference
from shared.process.logs import object_fields
from shared.process.sources import Sources
from worker.error_document import BadErrorDocument, decode
from worker.record import ErrorRecord

logger = logging.getLogger(__name__)

Key = tuple[str, str]  # namespace, name of an AppWrapper
UNAVAILABLE: Final = "StoreUnavailable"
SKIPPED: Final = "ErrorRecordsSkipped"

_THREADS: Final = 4  # per store: a store that hangs does not block the others
# Threads that one AppWrapper uses at a time, so that the others' decisions do not wait for it.
_THREADS_OF_ONE: Final = 2
_FILES_AT_ONCE: Final = 64
_BYTES_AT_ONCE: Final = 2 << 20
# Characters of a record's message that are kept. Status and Events show fewer.
_LONGEST_MESSAGE: Final = 4096
_LONGEST_FIELD: Final = 256
_MOST_NAMED: Final = 5
_LONGEST_NAME: Final = 80
_LONGEST_PROBLEM: Final = 300

_NAME: Final = re.compile(r"[A-Za-z0-9][-.A-Za-z0-9]{0,252}")
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s@]*@|\?\S*")

# Why a file is ignored; also a label of a metric.
_EMPTY, _OVERSIZE, _UNREADABLE, _MALFORMED, _TOO_MANY = (
    "empty",
    "oversize",
    "unreadable",
    "malformed",
    "beyond maxFiles",
)
_REASONS: Final = (_EMPTY, _OVERSIZE, _UNREADABLE, _MALFORMED, _TOO_MANY)
_READ, _FAILED, _TIMED_OUT = "read", "failed", "timeout"


def missing_drivers(config: ErrorAggregation) -> list[str]:
    """Return one sentence for each store that this installation has no driver for."""
    return [
        f"appwrapper.faultTolerance.errorAggregation.stores[{name}]: {scheme}:// needs the Python "
        f"package {driver}, which is not installed here: "
        "docs/admins/error-stores.md shows how to add it"
        for name, url in config.stores.items()
        if (driver := DRIVERS.get(scheme := scheme_of(url))) and find_spec(driver) is None
    ]


@dataclass(slots=True)
class _Reading:
    """The read of one attempt's records; `read` is None until it ends."""

    attempt: int
    task: asyncio.Task[StoreRead]
    read: StoreRead | None = None


class ErrorStores:
    """Reads the records of each attempt once, after a restart perhaps once more.

    `wake` is called after each read. Events report unreadable stores and ignored files to users;
    metrics and the log report them to admins.
    """

    def __init__(
        self,
        config: ErrorAggregation,
        wake: Callable[[Key], None],
        recorder: EventRecorder,
        registry: CollectorRegistry,
        sources: Sources,
        files: Callable[[str], RecordFiles] = files_at,
    ) -> None:
        self._config = config
        self._wake = wake
        self._recorder = recorder
        self._clock = sources.clock
        self._files = files
        self._stores: dict[str, RecordFiles] = {}
        self._readings: dict[str, _Reading] = {}  # by UID
        self._threads = {
            url: DaemonThreads(_THREADS, f"error-store-{name}", sources.start_thread)
            for name, url in config.stores.items()
        }
        self._reads = prometheus_client.Counter(
            "appwrapper_error_store_reads_total",
            "Reads of an attempt's error records, by result.",
            ("result",),
            registry=registry,
        )
        self._skips = prometheus_client.Counter(
            "appwrapper_error_records_skipped_total",
            "Files of error stores that could not be used.",
            ("reason",),
            registry=registry,
        )
        for result in (_READ, _FAILED, _TIMED_OUT):
            self._reads.labels(result)
        for reason in _REASONS:
            self._skips.labels(reason)

    def read(self, appwrapper: AppWrapper, store: str, *, begin: bool) -> StoreRead | None:
        """Return the records of the current attempt; None if they are not read yet.

        `store` is the name of a configured store. Only with `begin`, a missing read begins.
        Must be called on the event loop.
        """
        known = self._readings.get(appwrapper.uid)
        if known is not None and known.attempt == appwrapper.attempt:
            return known.read
        if not begin:
            return None
        if known is not None:
            known.task.cancel()
        task = asyncio.create_task(self._read(appwrapper, store))
        self._readings[appwrapper.uid] = reading = _Reading(appwrapper.attempt, task)
        task.add_done_callback(partial(self._finish, appwrapper, store, reading))
        return None

    def forget(self, uid: str, _key: Key) -> None:
        """Drop the records of an AppWrapper that is gone or does not need them."""
        known = self._readings.pop(uid, None)
        if known is not None:
            known.task.cancel()

    def close(self) -> None:
        """Cancel all reads; calls that hang stay in their threads."""
        for reading in self._readings.values():
            reading.task.cancel()

    async def _read(self, appwrapper: AppWrapper, store: str) -> StoreRead:
        """Raises TimeoutError, and any error of a driver."""
        url = self._config.stores[store]
        names = (appwrapper.namespace, appwrapper.name, appwrapper.uid, str(appwrapper.attempt))
        if not all(map(_NAME.fullmatch, names)):
            raise ValueError("a name of the AppWrapper is not valid as a folder's name")
        abandoned = Event()
        try:
            async with self._clock.timeout(self._config.read_timeout.total_seconds()):
                found = await self._threads[url].run(partial(self._listed, url, names, abandoned))
                records, skipped = await self._records(url, names, found, abandoned)
        finally:
            abandoned.set()
        uri = records_uri(url, appwrapper, appwrapper.attempt)
        for reason, count in Counter(why for _, why in skipped).items():
            self._skips.labels(reason).inc(count)
        self._skips.labels(_TOO_MANY).inc(found.more)
        more = (f"{found.more} beyond maxFiles",) if found.more else ()
        return StoreRead(
            records=tuple(replace(each, uri=f"{uri}/{name}") for name, each in records),
            skipped=(*(f"{name}: {why}" for name, why in skipped), *more),
        )

    async def _records(
        self, url: str, folder: Folder, found: Listing, abandoned: Event
    ) -> tuple[list[tuple[str, ErrorRecord]], list[tuple[str, str]]]:
        """Return the records with their file names, and the ignored files with the reasons."""
        limit = self._config.max_file_bytes
        skipped = [
            (_shown(each.name), _OVERSIZE if each.size else _EMPTY)
            for each in found.entries
            if not 0 < each.size <= limit
        ]
        usable = [each for each in found.entries if 0 < each.size <= limit]
        turns = asyncio.Semaphore(_THREADS_OF_ONE)

        async def read(batch: Sequence[Entry]) -> list[tuple[str, ErrorRecord | str]]:
            async with turns:
                call = partial(self._decoded, url, folder, batch, abandoned)
                return await self._threads[url].run(call)

        results = await asyncio.gather(*map(read, _batches(usable)))
        every = [each for result in results for each in result]
        skipped += [(name, each) for name, each in every if isinstance(each, str)]
        return [(name, each) for name, each in every if not isinstance(each, str)], skipped

    def _listed(self, url: str, folder: Folder, abandoned: Event) -> Listing:
        """List the files; runs in a thread."""
        if url not in self._stores:
            self._stores[url] = self._files(url)
        return self._stores[url].search(folder, self._config.max_files, abandoned)

    def _decoded(
        self, url: str, folder: Folder, batch: Sequence[Entry], abandoned: Event
    ) -> list[tuple[str, ErrorRecord | str]]:
        """Read and decode files; runs in a thread."""
        if abandoned.is_set():
            return []
        contents = self._stores[url].read(folder, batch)
        return [
            (_shown(entry.name), _UNREADABLE if content is None else _record(content))
            for entry, content in zip(batch, contents, strict=True)
        ]

    def _finish(
        self, appwrapper: AppWrapper, store: str, reading: _Reading, task: asyncio.Task[StoreRead]
    ) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            reading.read = task.result()
            self._reads.labels(_READ).inc()
            self._tell_skipped(appwrapper, reading.read)
        else:
            reading.read = StoreRead(problem=self._problem(appwrapper, store, error))
        self._wake((appwrapper.namespace, appwrapper.name))

    def _problem(self, appwrapper: AppWrapper, store: str, error: BaseException) -> str:
        """Count and report an error. Only the log has the driver's message: it may name hosts."""
        timed_out = isinstance(error, TimeoutError)
        self._reads.labels(_TIMED_OUT if timed_out else _FAILED).inc()
        within = format_duration(self._config.read_timeout)
        why = f"no answer within {within}" if timed_out else type(error).__name__
        logger.warning(
            "error store %s cannot be read, so the decision ignores it: %s%s",
            store,
            why,
            "" if timed_out else f": {_without_credentials(str(error))}",
            extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
        )
        problem = f"error store {store} cannot be read ({why})"
        decided = "the decision uses the pods' own status"
        self._recorder.warning(ObjectReference.to(appwrapper), UNAVAILABLE, f"{problem}; {decided}")
        return problem

    def _tell_skipped(self, appwrapper: AppWrapper, read: StoreRead) -> None:
        if not read.skipped:
            return
        logger.warning(
            "%d files of an error store cannot be used",
            len(read.skipped),
            extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
        )
        named = ", ".join(read.skipped[:_MOST_NAMED])
        rest = len(read.skipped) - _MOST_NAMED
        limit = format_size(self._config.max_file_bytes)
        self._recorder.warning(
            ObjectReference.to(appwrapper),
            SKIPPED,
            f"files in the error store that are no error records of at most {limit}: {named}"
            + (f" and {rest} more" if rest > 0 else ""),
        )


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Split files into batches with a limit of files and of bytes."""
    batch: list[Entry] = []
    size = 0
    for each in entries:
        if batch and (len(batch) == _FILES_AT_ONCE or size + each.size > _BYTES_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += each.size
    if batch:
        yield batch


def _record(content: bytes) -> ErrorRecord | str:
    """Return the shortened record in a file, or why the file is ignored."""
    try:
        found = decode(content)
    except BadErrorDocument:
        return _MALFORMED
    return replace(
        found,
        code=found.code[:_LONGEST_FIELD],
        message=_shortened(found.message),
        worker=found.worker[:_LONGEST_FIELD],
        pod_uid=found.pod_uid[:_LONGEST_FIELD],
        record_id=found.record_id[:_LONGEST_FIELD],
    )


def _shortened(message: str) -> str:
    """Return a quarter of the limit from the beginning and the rest from the end.

    The end of a traceback is more useful than its beginning.
    """
    if len(message) <= _LONGEST_MESSAGE:
        return message
    head = _LONGEST_MESSAGE // 4
    return f"{message[:head]}\n[…]\n{message[head - _LONGEST_MESSAGE :]}"


def _shown(name: str) -> str:
    """Return a file's name for messages: printable ASCII, shortened."""
    plain = "".join(each if " " <= each <= "~" else "?" for each in name)
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}…"


def _without_credentials(text: str) -> str:
    """Remove credentials from a driver's error, which may contain signed URLs; shorten it."""
    return " ".join(_CREDENTIALS.sub("", text[: 4 * _LONGEST_PROBLEM]).split())[:_LONGEST_PROBLEM]
