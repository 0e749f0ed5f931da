"""Keeps built images, by the hash of their inputs.

CACHE/images/KIND-HASH/image.tar     complete, or absent: renamed when it is built
CACHE/images/.work/                  a build in progress; the next build removes a killed one
CACHE/images/pip-cache/              downloaded packages
CACHE/images/build.lock              held during a build
CACHE/images/build.log               the output of the last build
"""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from localcluster.images.image import Image
from localcluster.machine.disk import is_full, require_free
from localcluster.machine.errors import DiskFull, LocalClusterError
from localcluster.machine.locks import FileLock
from localcluster.machine.progress import Reporter
from localcluster.programs.build_cache import default_folder

# Megabytes during a build: three copies of the base image, and the result.
NEEDED = 1_500
# Archives of each kind that stay: those of this checkout and of a few others.
_KEPT = 4
_ARCHIVE = "image.tar"
_FREE_SPACE = "Free some space, or set XDG_CACHE_HOME to a folder on a larger disk."


class Archives:
    """One folder of images, shared by every run of this user."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder() / "images"

    @property
    def log(self) -> Path:
        """The output of the tools."""
        return self.folder / "build.log"

    @property
    def pip_cache(self) -> Path:
        return self.folder / "pip-cache"

    def find(self, name: str, kind: str, key: str) -> Image | None:
        """Returns the image if it exists, and marks it as used now."""
        archive = self.folder / f"{kind}-{key}" / _ARCHIVE
        if not archive.is_file():
            return None
        os.utime(archive.parent)
        return Image(name, archive)

    async def keep(
        self, name: str, kind: str, key: str, work: Path, save: Callable[[Path], Awaitable[None]]
    ) -> Image:
        """Adds the image that `save` writes to its argument, a path on the disk of `work`."""
        draft = work / f"{kind}-{key}"
        draft.mkdir()
        await save(draft / _ARCHIVE)
        draft.rename(self.folder / draft.name)
        self._forget_old(kind)
        found = self.find(name, kind, key)
        assert found is not None
        return found

    @contextlib.asynccontextmanager
    async def work_folder(self, reporter: Reporter, megabytes: int = NEEDED) -> AsyncIterator[Path]:
        """Makes an empty folder for one run at a time, and removes it; the disk must have room.

        Raises DiskFull, or LocalClusterError if this user cannot write there.
        """
        require_free(self.folder, megabytes, "Building images", _FREE_SPACE)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / "build.lock"
            lock = await FileLock.take_visibly(path, reporter, "builds images")
        except OSError as failure:
            raise LocalClusterError(
                f"Images cannot be kept in {self.folder}: {failure.strerror}. Set XDG_CACHE_HOME to"
                " a folder that this user can write to."
            ) from failure
        work = self.folder / ".work"
        try:
            if work.exists():
                shutil.rmtree(work)
            work.mkdir(mode=0o700)
            self.log.write_bytes(b"")
            yield work
        except OSError as failure:
            if not is_full(failure):
                raise
            raise DiskFull(f"The disk became full in {self.folder}. {_FREE_SPACE}") from failure
        finally:
            shutil.rmtree(work, ignore_errors=True)
            lock.release()

    def _forget_old(self, kind: str) -> None:
        kept = sorted(
            self.folder.glob(f"{kind}-{'[0-9a-f]' * 16}"),
            key=lambda path: path.stat().st_mtime,
            reverse=True,
        )
        for path in kept[_KEPT:]:
            shutil.rmtree(path, ignore_errors=True)
