"""Reading the error records of an attempt: once, bounded, and never in the way of a pass."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.facts.error_store import StoreRead
from controller.gather.error_store_reader import ErrorStores, missing_drivers
from controller.gather.record_files import Entry, Folder, Listing, RecordFiles, files_at
from shared.api.appwrapper import AppWrapper
from shared.config.fault_tolerance import ErrorAggregation
from shared.process.clock import SystemClock
from tests.support.fakes.fake_clock import fake_sources
from worker.error_document import encode
from worker.record import ErrorRecord

KEY = ("team1", "train")
RECORD = ErrorRecord(code="ValueError", message="bad shard", origin="USER", time_ns=5, worker="w-0")


def appwrapper(attempt: int = 2, **metadata: str) -> AppWrapper:
    named = {"namespace": "team1", "name": "train", "uid": "u1", **metadata}
    return AppWrapper({"metadata": named, "spec": {}, "status": {"attempt": attempt}})


class StoresBench:
    """A store on this machine, with everything around it."""

    def __init__(self, root: Path, **config: Any) -> None:
        self.root = root
        self.uri = f"file://{root}/team1/train/u1/2"
        self.woken: list[tuple[str, str]] = []
        self.answered = asyncio.Event()
        self.events: list[tuple[str, str]] = []
        self.registry = CollectorRegistry()
        self.config = ErrorAggregation(stores={"team": f"file://{root}"}, **config)

    def stores(self, files: Callable[[str], RecordFiles] = files_at) -> ErrorStores:
        recorder: Any = self
        return ErrorStores(
            self.config, self.wake, recorder, self.registry, fake_sources(SystemClock()), files
        )

    def wake(self, key: tuple[str, str]) -> None:
        self.woken.append(key)
        self.answered.set()

    def warning(self, _about: Any, reason: str, message: str) -> None:
        self.events.append((reason, message))

    def put(self, name: str, content: bytes, attempt: int = 2) -> None:
        folder = self.root / f"team1/train/u1/{attempt}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    async def read(self, stores: ErrorStores, attempt: int = 2) -> StoreRead:
        assert stores.read(appwrapper(attempt), "team", begin=True) is None
        await self.answered.wait()
        self.answered.clear()
        found = stores.read(appwrapper(attempt), "team", begin=True)
        assert found is not None
        return found

    def counted(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


class Held:
    """A store that answers when it is let, or raises."""

    def __init__(self, error: Exception | None = None) -> None:
        self.answers = Event()
        self.searches = 0
        self.error = error

    def search(self, folder: Folder, most: int, abandoned: Event) -> Listing:
        self.searches += 1
        self.answers.wait(10)
        if self.error:
            raise self.error
        return Listing()

    def read(self, folder: Folder, entries: Sequence[Entry]) -> list[bytes | None]:
        raise AssertionError("nothing was listed")


async def test_the_records_of_the_attempt_are_read_once(tmp_path: Path) -> None:
    bench = StoresBench(tmp_path)
    bench.put("error-w-0.pb", encode(RECORD))
    bench.put("error.pb", encode(replace(RECORD, worker="")))
    bench.put("error-w-0.pb", encode(replace(RECORD, code="old")), attempt=1)
    stores = bench.stores()
    read = await bench.read(stores)
    assert read == StoreRead(
        records=(
            replace(RECORD, uri=f"{bench.uri}/error-w-0.pb"),
            replace(RECORD, worker="", uri=f"{bench.uri}/error.pb"),
        )
    )
    bench.put("error-w-1.pb", encode(RECORD))
    assert stores.read(appwrapper(), "team", begin=True) is read
    assert bench.woken == [KEY]
    assert bench.events == []
    assert bench.counted("appwrapper_error_store_reads_total", result="read") == 1


async def test_the_records_of_the_next_attempt_are_read_again(tmp_path: Path) -> None:
    bench = StoresBench(tmp_path)
    bench.put("error-w-0.pb", encode(RECORD))
    stores = bench.stores()
    await bench.read(stores)
    assert await bench.read(stores, attempt=3) == StoreRead()


async def test_forgotten_records_are_read_again(tmp_path: Path) -> None:
    bench = StoresBench(tmp_path)
    stores = bench.stores()
    assert await bench.read(stores) == StoreRead()
    stores.forget("u1", KEY)
    stores.forget("u2", KEY)
    bench.put("error-w-0.pb", encode(RECORD))
    assert len((await bench.read(stores)).records) == 1


async def test_bad_files_are_skipped_and_the_next_one_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = StoresBench(tmp_path, max_file_bytes=1000)
    content = encode(RECORD)
    bench.put("error-0.pb", b"")
    bench.put("error-1.pb", content[:-1])
    bench.put("error-2.pb", b'{"message": "json"}')
    bench.put("error-3.pb", encode(replace(RECORD, message="x" * 1000)))
    bench.put("error-4\x1b[2J.pb", b"\0")
    bench.put("error-5.pb", content)
    with caplog.at_level(logging.WARNING):
        read = await bench.read(bench.stores())
    assert read.records == (replace(RECORD, uri=f"{bench.uri}/error-5.pb"),)
    assert read.skipped == (
        "error-0.pb: empty",
        "error-3.pb: oversize",
        "error-1.pb: malformed",
        "error-2.pb: malformed",
        "error-4?[2J.pb: malformed",
    )
    assert bench.events == [
        (
            "ErrorRecordsSkipped",
            "files in the error store that are no error records of at most 1000: error-0.pb: empty,"
            " error-3.pb: oversize, error-1.pb: malformed, error-2.pb: malformed,"
            " error-4?[2J.pb: malformed",
        )
    ]
    assert caplog.messages == ["5 files of an error store cannot be used"]
    skipped = "appwrapper_error_records_skipped_total"
    assert bench.counted(skipped, reason="malformed") == 3
    assert bench.counted(skipped, reason="oversize") == 1
    assert bench.counted(skipped, reason="empty") == 1
    assert bench.counted(skipped, reason="unreadable") == 0


async def test_a_file_of_just_the_largest_size_counts(tmp_path: Path) -> None:
    content = encode(RECORD)
    bench = StoresBench(tmp_path, max_file_bytes=len(content))
    bench.put("error-0.pb", content)
    bench.put("error-1.pb", content + b"\0")
    read = await bench.read(bench.stores())
    assert (len(read.records), read.skipped) == (1, ("error-1.pb: oversize",))


async def test_no_more_files_are_read_than_configured(tmp_path: Path) -> None:
    bench = StoresBench(tmp_path, max_files=2)
    for number in range(7):
        bench.put(f"error-{number}.pb", b"")
    bench.put("error-1.pb", encode(RECORD))
    read = await bench.read(bench.stores())
    assert len(read.records) == 1
    assert read.skipped == ("error-0.pb: empty", "5 beyond maxFiles")
    reason = "beyond maxFiles"
    assert bench.counted("appwrapper_error_records_skipped_total", reason=reason) == 5


async def test_an_event_names_some_of_many(tmp_path: Path) -> None:
    bench = StoresBench(tmp_path)
    for number in range(7):
        bench.put(f"error-{number}{'x' * 100}.pb", b"")
    await bench.read(bench.stores())
    ((_, message),) = bench.events
    assert message.endswith(f"error-4{'x' * 73}…: empty and 2 more")
    assert len(message.encode()) < 1024


async def test_long_texts_are_shortened(tmp_path: Path) -> None:
    bench = StoresBench(tmp_path)
    long = replace(
        RECORD, message="a" * 1024 + "b" * 9000 + "c" * 3072, code="d" * 999, worker="w" * 999
    )
    bench.put("error-0.pb", encode(long))
    (record,) = (await bench.read(bench.stores())).records
    assert record.message == "a" * 1024 + "\n[…]\n" + "c" * 3072
    assert (record.code, record.worker) == ("d" * 256, "w" * 256)


async def test_a_store_without_an_answer_is_given_up_in_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = StoresBench(tmp_path, read_timeout=timedelta(milliseconds=10))
    held = Held()
    stores = bench.stores(lambda _: held)
    with caplog.at_level(logging.WARNING):
        read = await bench.read(stores)
    held.answers.set()
    problem = "error store team cannot be read (no answer within 10ms)"
    assert read == StoreRead(problem=problem)
    decided = "the decision uses the pods' own status"
    assert bench.events == [("StoreUnavailable", f"{problem}; {decided}")]
    assert caplog.messages == [
        "error store team cannot be read, so the decision ignores it: no answer within 10ms"
    ]
    assert bench.counted("appwrapper_error_store_reads_total", result="timeout") == 1


async def test_a_store_that_fails_is_a_problem_and_no_secret_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = StoresBench(tmp_path)
    words = "403 for https://key:secret@host/b?X-Amz-Signature=abc\nsee <Error>" + "x" * 9999
    held = Held(PermissionError(words))
    held.answers.set()
    with caplog.at_level(logging.WARNING):
        read = await bench.read(bench.stores(lambda _: held))
    assert read == StoreRead(problem="error store team cannot be read (PermissionError)")
    ((_, message),) = bench.events
    assert "secret" not in message
    (logged,) = caplog.messages
    opening = "error store team cannot be read, so the decision ignores it: PermissionError: "
    assert logged.startswith(f"{opening}403 for https://host/b see <Error>xxx")
    assert len(logged) == len(opening) + 300
    assert bench.counted("appwrapper_error_store_reads_total", result="failed") == 1


async def test_a_volume_that_is_not_mounted_is_a_problem(tmp_path: Path) -> None:
    bench = StoresBench(tmp_path / "elsewhere")
    read = await bench.read(bench.stores())
    assert read.problem == "error store team cannot be read (FileNotFoundError)"


@pytest.mark.parametrize(
    "metadata", [{"name": ".."}, {"uid": "a/b"}, {"namespace": ""}, {"name": ".x"}]
)
async def test_no_name_leads_elsewhere(tmp_path: Path, metadata: dict[str, str]) -> None:
    """The API server refuses such names; nothing relies on it."""
    bench = StoresBench(tmp_path)
    stores = bench.stores(lambda _: Held(AssertionError("it was searched")))
    item = appwrapper(2, **metadata)
    assert stores.read(item, "team", begin=True) is None
    await bench.answered.wait()
    read = stores.read(item, "team", begin=True)
    assert read == StoreRead(problem="error store team cannot be read (ValueError)")


async def test_one_store_that_hangs_holds_up_no_loop_and_ends_with_its_appwrapper(
    tmp_path: Path,
) -> None:
    bench = StoresBench(tmp_path)
    held = Held()
    stores = bench.stores(lambda _: held)
    assert stores.read(appwrapper(), "team", begin=True) is None
    assert stores.read(appwrapper(), "team", begin=True) is None
    stores.forget("u1", KEY)
    held.answers.set()
    stores.close()
    for _ in range(10):
        await asyncio.sleep(0)
    assert held.searches <= 1
    assert (bench.woken, bench.events) == ([], [])


def test_drivers_that_are_not_installed_are_named() -> None:
    stores = {"a": "s3://b/c", "b": "file:///x", "c": "gs://b"}
    problem = "is not installed here: docs/admins/error-stores.md shows how to add it"
    path = "appwrapper.faultTolerance.errorAggregation.stores"
    assert missing_drivers(ErrorAggregation(stores=stores)) == [
        f"{path}[a]: s3:// needs the Python package s3fs, which {problem}",
        f"{path}[c]: gs:// needs the Python package gcsfs, which {problem}",
    ]
