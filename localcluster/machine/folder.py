"""The folder of one cluster: claimed while it runs, swept if its owner was killed, else removed.

A cluster's folder has a file `lock`, which is locked while the cluster's process lives. An unlocked
`lock` means that a killed run left the folder. A folder with anything else in it belongs to another
program.
"""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from localcluster.machine.disk import require_free
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.locks import FileLock, holder_of, is_held

_LOCK = "lock"
_PREFIX = "appwrapper-cluster-"
_DRAFT_PREFIX = "appwrapper-draft-"
_LOGS_PREFIX = "appwrapper-logs-"
_MEGABYTES = 400  # etcd reserves 64 MB twice at once, then come snapshots and logs
_REMEDY = "Free some space, or use --dir (or TMPDIR) to put the cluster on a larger disk."


def default_folder() -> Path:
    """Returns the folder in which `up` puts this user's cluster by default."""
    return Path(tempfile.gettempdir()) / f"appwrapper-localcluster-{os.getuid()}"


class ClusterFolder:
    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def claim(cls, path: Path | None) -> "ClusterFolder":
        """Claims `path`, or a new folder among the temporary files. Raises LocalClusterError.

        Removes first what killed runs left there or among the temporary files.
        """
        require_free(path or Path(tempfile.gettempdir()), _MEGABYTES, "A cluster", _REMEDY)
        sweep_temporary()
        return cls._claim_named(path.absolute()) if path else cls._claim_temporary()

    @classmethod
    def _claim_named(cls, path: Path) -> "ClusterFolder":
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_uid != os.getuid():
            raise LocalClusterError(
                f"{path} belongs to another user. Use --dir to name another folder."
            )
        if not (path / _LOCK).exists() and any(path.iterdir()):
            raise LocalClusterError(
                f"{path} is no cluster's folder and is not empty. Use --dir to name another one."
            )
        lock = FileLock.try_take(path / _LOCK)
        if lock is None:
            raise LocalClusterError(
                f"A cluster is running already in {path} (process {holder_of(path / _LOCK)})."
                f" `python -m localcluster status --dir {path}` shows it, `down` ends it."
            )
        folder = cls(path, lock)
        folder._empty()
        return folder

    @classmethod
    def _claim_temporary(cls) -> "ClusterFolder":
        # Locked under another name first: no sweep can mistake it for a leftover meanwhile.
        draft = Path(tempfile.mkdtemp(prefix=_DRAFT_PREFIX))
        lock = FileLock.try_take(draft / _LOCK)
        assert lock is not None
        path = draft.with_name(draft.name.replace(_DRAFT_PREFIX, _PREFIX, 1))
        draft.rename(path)
        lock.path = path / _LOCK
        return cls(path, lock)

    def keep_logs(self, logs: Path) -> Path:
        """Copies the logs to a new temporary folder that this program never removes."""
        kept = Path(tempfile.mkdtemp(prefix=_LOGS_PREFIX))
        try:
            shutil.copytree(logs, kept, dirs_exist_ok=True)
        except BaseException:
            shutil.rmtree(kept, ignore_errors=True)
            raise
        return kept

    def remove(self) -> None:
        """Removes the folder. A second call does nothing."""
        if self._lock.path.exists():
            self._empty()
        self._lock.release(remove=True)
        with contextlib.suppress(FileNotFoundError):  # another run swept it meanwhile
            if not any(self.path.iterdir()):
                self.path.rmdir()

    def _empty(self) -> None:
        for entry in self.path.iterdir():
            if entry.name == _LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()


def running_owner(path: Path) -> int | None:
    """Returns the process whose cluster runs in the folder; None if none runs."""
    lock = path / _LOCK
    return holder_of(lock) if is_held(lock) else None


def sweep(path: Path) -> bool:
    """Removes what a killed run left in the folder; returns False if there was nothing."""
    if not (path / _LOCK).exists():
        return False
    lock = FileLock.try_take(path / _LOCK)
    if lock is None:
        return False
    ClusterFolder(path, lock).remove()
    return True


def sweep_temporary() -> None:
    """Removes what killed runs of this user left among the temporary files."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):  # another run is sweeping too
            if path.stat().st_uid == os.getuid():
                sweep(path)
