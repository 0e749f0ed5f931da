"""Workers whose recorders leave their records in an error store alone."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tests.support.root_cause_cases.case import Failure, Files, failure
from tests.support.root_cause_cases.recorded import NO_RETRY, RETRY, case, lost, raises
from tests.support.root_cause_cases.workers import End, Workers, leave, raised
from worker import error_document

_OVERSIZE: Final = 2 * 1024 * 1024 + 1
_WRONG: Final = End(after=2, message="Connection reset by peer")
_FLYTE: Final = "USER:ValueError: SECRET-4"
_VALID: Final = raises("ValueError: SECRET-10", 1, 1)
_FIRST: Final = raises("OSError: SECRET-17", 0.25, 0, recoverable=True)
_FOUR: Final = {0: lost(1.25, 0), 1: lost(1.2, 1), 2: raises("KeyError: SECRET-2", 1, 2)}


def _all(folder: Path, workers: Workers) -> None:
    for index, end in _FOUR.items():
        leave(folder, workers.record(index, end))


def _flytes(folder: Path, _workers: Workers) -> None:
    """Writes Flyte's single file, which has neither time nor worker."""
    leave(folder, replace(raised(_FLYTE), exit_code=None, code="USER:ValueError"), "error.pb")


def _spoilt(folder: Path, workers: Workers) -> None:
    whole = error_document.encode(workers.record(1, _VALID))
    (folder / "error-a.pb").write_bytes(b"")
    (folder / "error-b.pb").write_bytes(whole[:-7])
    (folder / "error-c.pb").write_bytes(b"\xff\xff not a document")
    (folder / "error-d.pb").write_bytes(whole + b"\0" * _OVERSIZE)
    os.mkfifo(folder / "error-e.pb")  # nobody ever writes to it
    (folder / "notes.txt").write_text("not a record")
    leave(folder, workers.record(1, _VALID))


def _first(folder: Path, workers: Workers) -> None:
    leave(folder, workers.record(0, _FIRST))


def _of_the_last_attempt(folder: Path, workers: Workers) -> None:
    """Copies the record of attempt 1; it states its attempt."""
    name = f"error-{workers.name(0)}.pb"
    (folder / name).write_bytes((folder.parent / "1" / name).read_bytes())


def _unreadable(folder: Path, _workers: Workers) -> None:
    folder.rmdir()
    folder.symlink_to(folder.name)  # to itself


def _from_the_store(
    root: int, ends: dict[int, End], *, then: str, stored: Files, **others: Any
) -> Failure:
    """Builds a failure whose root cause has its record in the store; no pod shows a record."""
    shown = {index: replace(end, record=None) for index, end in ends.items()}
    uri = f"error-w{root}.pb"
    reports = failure(
        root, ends, then=then, stored=stored, **{"source": "Store", "uri": uri, **others}
    )
    return replace(reports, ends=shown)


CASES: Final = (
    case(
        "records in the store alone name the first worker to fail",
        _from_the_store(2, _FOUR, then=NO_RETRY, stored=_all),
    ),
    case(
        "Flyte's single file without time and worker is used if there is no other",
        _from_the_store(
            0,
            {0: raises(_FLYTE, 1)},
            then=NO_RETRY,
            stored=_flytes,
            code="USER:ValueError",
            uri="error.pb",
        ),
    ),
    case(
        "bad files are skipped with a warning, and the next valid record decides",
        _from_the_store(
            1,
            {0: _WRONG, 1: _VALID},
            then=NO_RETRY,
            stored=_spoilt,
            warnings={
                "ErrorRecordsSkipped": "files in the error store that are no error records of at"
                " most 2Mi: error-a.pb: empty, error-d.pb: oversize, error-b.pb: malformed,"
                " error-c.pb: malformed"
            },
        ),
    ),
    case(
        "a record of an earlier attempt does not count, although the pods' names are the same",
        _from_the_store(0, {0: _FIRST, 1: _WRONG}, then="retry 1 of 1 follows", stored=_first),
        failure(
            1,
            {0: _WRONG, 1: raises("RuntimeError: SECRET-18", 1, 1, recoverable=True)},
            then="retries exhausted (1 of 1)",
            stored=_of_the_last_attempt,
        ),
        annotations={"retryLimit": "1"},
    ),
    case(
        "if the store cannot be read, the termination messages decide",
        failure(
            0,
            {0: raises("OSError: SECRET-22", 1, 0, recoverable=True), 1: _WRONG},
            then=RETRY,
            stored=_unreadable,
            warnings={
                "StoreUnavailable": "error store local cannot be read (NotADirectoryError); the"
                " decision uses the pods' own status"
            },
        ),
    ),
)
