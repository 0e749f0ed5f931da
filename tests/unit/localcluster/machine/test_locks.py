import asyncio
import os
from pathlib import Path

from localcluster.machine.locks import FileLock, holder_of, is_held


def held(path: Path) -> FileLock:
    lock = FileLock.try_take(path)
    assert lock is not None
    return lock


def test_only_one_holds_it_and_the_file_names_who(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = held(path)
    assert FileLock.try_take(path) is None
    assert is_held(path)
    assert holder_of(path) == os.getpid()
    lock.release()
    assert not is_held(path)
    held(path).release(remove=True)
    assert not path.exists()


def test_asking_creates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    assert holder_of(path) is None
    assert not path.exists()


def test_lock_file_of_a_killed_run_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("4194305 and the rest of a longer number\n")
    held(path)
    assert path.read_text() == f"{os.getpid()}\n"


async def test_waiting_ends_with_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = held(path)
    waiting = asyncio.create_task(FileLock.take(path))
    await asyncio.sleep(0)
    assert not waiting.done()
    first.release(remove=True)
    second = await waiting
    # The file that the first one removed was made anew and is what is locked now.
    assert is_held(path)
    second.release()
