"""List and read the files of an error store. Blocking: call from threads.

Users write these files. On a shared volume they may create links to other folders, pipes that block
a reader, or millions of entries. So only regular files in the folder of one attempt are opened, and
no name or size is trusted.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import nsmallest
from importlib import import_module
from threading import Event
from typing import Any, Final, Protocol

from shared.config.store_urls import DRIVERS, scheme_of

PREFIX: Final = "error"
SUFFIX: Final = ".pb"
# Entries of one folder that are read: no AppWrapper has more pods.
_MOST_ENTRIES: Final = 100_000
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Folder = tuple[str, ...]
"""Path components below the store. Each is a Kubernetes name: no slash, no dot at the start."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that may be a record. `size`: bytes, as listed."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Listing:
    """`entries`: the first by name. `more`: the number of other files."""

    entries: tuple[Entry, ...] = ()
    more: int = 0


class RecordFiles(Protocol):
    """The files of one store."""

    def search(self, folder: Folder, most: int, abandoned: Event) -> Listing:
        """Return at most `most` files; none without such a folder. Raises any error."""
        ...

    def read(self, folder: Folder, entries: Sequence[Entry]) -> list[bytes | None]:
        """Return the content of each, at most the listed size; None if it cannot be read."""
        ...


def is_record(name: str) -> bool:
    """True for `error-<pod name>.pb` and for the file names that Flyte uses."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def first_entries(found: Iterator[Entry], most: int) -> Listing:
    """Return the first entries by name, so that each read uses the same files."""
    count = 0

    def counted() -> Iterator[Entry]:
        nonlocal count
        for each in found:
            count += 1
            yield each

    entries = nsmallest(most, counted(), key=lambda entry: entry.name)
    return Listing(tuple(entries), count - len(entries))


class LocalFiles:
    """A store in a local folder, usually a mounted volume."""

    def __init__(self, root: str) -> None:
        self._root = root

    def search(self, folder: Folder, most: int, abandoned: Event) -> Listing:
        """Raises OSError if the store's own folder is missing."""
        try:
            with self._opened(folder) as descriptor, os.scandir(descriptor) as entries:
                return first_entries(_regular(entries, abandoned), most)
        except FileNotFoundError as error:
            if error.filename == self._root:
                raise
            return Listing()

    def read(self, folder: Folder, entries: Sequence[Entry]) -> list[bytes | None]:
        with self._opened(folder) as descriptor:
            return [_content(entry, descriptor) for entry in entries]

    @contextmanager
    def _opened(self, folder: Folder) -> Iterator[int]:
        """Open the folder without following links below the root. Raises OSError."""
        descriptor = os.open(self._root, _FOLDER)
        try:
            for name in folder:
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)


def _regular(entries: Iterator[os.DirEntry[str]], abandoned: Event) -> Iterator[Entry]:
    for number, each in enumerate(entries):
        if number >= _MOST_ENTRIES or abandoned.is_set():
            return
        if not is_record(each.name):
            continue
        try:
            found = each.stat(follow_symlinks=False)
        except FileNotFoundError:  # a temporary file that its writer has renamed
            continue
        if _is_own_file(found):
            yield Entry(each.name, found.st_size)


def _is_own_file(found: os.stat_result) -> bool:
    """True for a regular file without hard links: another link may be in another user's folder."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def _content(entry: Entry, folder: int) -> bytes | None:
    try:
        descriptor = os.open(entry.name, _FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        # The file may have been replaced since the list.
        same = _is_own_file(os.fstat(descriptor))
        return os.read(descriptor, entry.size) if same else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


class RemoteFiles:
    """A store in an object store. `system` is a file system of fsspec."""

    def __init__(self, system: Any, root: str) -> None:
        self._system = system
        self._root = root.rstrip("/")

    def search(self, folder: Folder, most: int, abandoned: Event) -> Listing:
        path = "/".join((self._root, *folder))
        try:
            found: list[dict[str, Any]] = self._system.ls(path, detail=True)
        except FileNotFoundError:
            return Listing()
        return first_entries(_objects(found, abandoned), most)

    def read(self, folder: Folder, entries: Sequence[Entry]) -> list[bytes | None]:
        """Read the files, in parallel if the driver can."""
        base = "/".join((self._root, *folder))
        contents = self._system.cat_ranges(
            [f"{base}/{entry.name}" for entry in entries],
            [0] * len(entries),
            [entry.size for entry in entries],
            on_error="return",
        )
        return [each if isinstance(each, bytes) else None for each in contents]


def _objects(found: list[dict[str, Any]], abandoned: Event) -> Iterator[Entry]:
    for each in found:
        if abandoned.is_set():
            return
        name = str(each["name"]).rpartition("/")[2]
        if each.get("type") == "file" and is_record(name):
            yield Entry(name, int(each.get("size") or 0))


def files_at(url: str) -> RecordFiles:
    """Return the store at a configured URL. Raises ImportError and others.

    fsspec and its drivers are imported only here: they need 0.1 s, and s3fs a second.
    """
    scheme = scheme_of(url)
    if not DRIVERS[scheme]:
        return LocalFiles(url.removeprefix("file://"))
    fsspec = import_module("fsspec")
    # A cached listing would hide newer files.
    system = fsspec.filesystem(scheme, use_listings_cache=False, skip_instance_cache=True)
    return RemoteFiles(system, str(system._strip_protocol(url)))
