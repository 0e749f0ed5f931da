"""Locks between processes: a file that is held open and locked.

The kernel drops such a lock when its holder ends, however it ends, so no lock is ever stale.
"""

import asyncio
import fcntl
import os
from pathlib import Path

from localcluster.machine.progress import Reporter, step

_RETRY_SECONDS = 0.2


class FileLock:
    """A lock that is held. The file names the holder's process id."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def try_take(cls, path: Path) -> "FileLock | None":
        """Returns the lock; None while another process holds it. Raises OSError."""
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
            if _is_file_at(path, descriptor):
                break
            os.close(descriptor)  # its last holder removed it meanwhile: lock the new one
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return cls(path, descriptor)

    @classmethod
    async def take(cls, path: Path) -> "FileLock":
        """Returns the lock once it is free."""
        while True:
            lock = cls.try_take(path)
            if lock is not None:
                return lock
            # Polled: the kernel can wait for a lock, but only by blocking a thread.
            await asyncio.sleep(_RETRY_SECONDS)

    @classmethod
    async def take_visibly(cls, path: Path, reporter: Reporter, activity: str) -> "FileLock":
        """Returns the lock; reports the wait for its holder, which is busy with `activity`."""
        lock = cls.try_take(path)
        if lock is None:
            holder = holder_of(path)
            who = f"process {holder}" if holder else "another process"
            async with step(reporter, f"wait for {who}, which {activity}"):
                lock = await cls.take(path)
        return lock

    def release(self, *, remove: bool = False) -> None:
        """Releases the lock. `remove` deletes the file first. A second release does nothing."""
        if self._descriptor is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None


def is_held(path: Path) -> bool:
    """True if a running process holds the lock at `path`. Creates nothing."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder_of(path: Path) -> int | None:
    """Returns the process id in the lock's file; None if there is none."""
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


def _is_file_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
