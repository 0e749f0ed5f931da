"""Listing and reading the files of an error store, wherever it is. Blocking: for threads.

Users write these files, and on a shared volume they may write anything: links that lead elsewhere,
pipes that block whoever opens them, millions of entries. So only regular files below the folder of
one attempt are opened, and no name or size is trusted.
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
# Entries of one folder that are looked at: nobody has more pods.
_MOST_ENTRIES: Final = 100_000
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Folder = tuple[str, ...]
"""Names below the store, each of Kubernetes: without a slash, and none begins with a dot."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that may be a record. `size` in bytes, as listed."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Listing:
    """`entries` are the first by name; `more` says how many others there are."""

    entries: tuple[Entry, ...] = ()
    more: int = 0


class RecordFiles(Protocol):
    """One store."""

    def search(self, folder: Folder, most: int, abandoned: Event) -> Listing:
        """Return at most `most` files; none where there is no such folder. Raises anything."""
        ...

    def read(self, folder: Folder, entries: Sequence[Entry]) -> list[bytes | None]:
        """Return the content of each, no longer than listed; None if it cannot be read."""
        ...


def is_record(name: str) -> bool:
    """True for `error-<pod name>.pb`, and for whatever Flyte writes."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def first_entries(found: Iterator[Entry], most: int) -> Listing:
    """Return the first by name, so that the same files count at every look."""
    count = 0

    def counted() -> Iterator[Entry]:
        nonlocal count
        for each in found:
            count += 1
            yield each

    entries = nsmallest(most, counted(), key=lambda entry: entry.name)
    return Listing(tuple(entries), count - len(entries))


class LocalFiles:
    """A folder of this machine, as a rule a mounted volume."""

    def __init__(self, root: str) -> None:
        self._root = root

    def search(self, folder: Folder, most: int, abandoned: Event) -> Listing:
        """See `RecordFiles`. Raises OSError if the store's own folder is missing."""
        try:
            with self._opened(folder) as descriptor, os.scandir(descriptor) as entries:
                return first_entries(_regular(entries, abandoned), most)
        except FileNotFoundError as error:
            if error.filename == self._root:
                raise
            return Listing()

    def read(self, folder: Folder, entries: Sequence[Entry]) -> list[bytes | None]:
        """See `RecordFiles`."""
        with self._opened(folder) as descriptor:
            return [_content(entry, descriptor) for entry in entries]

    @contextmanager
    def _opened(self, folder: Folder) -> Iterator[int]:
        """A descriptor of the folder; no link below the root is followed. Raises OSError."""
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
        except FileNotFoundError:  # a writer's temporary file that has its real name by now
            continue
        if _is_own_file(found):
            yield Entry(each.name, found.st_size)


def _is_own_file(found: os.stat_result) -> bool:
    """Another name of the same file may be in somebody else's folder."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def _content(entry: Entry, folder: int) -> bytes | None:
    try:
        descriptor = os.open(entry.name, _FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        # It may have been replaced since it was listed.
        same = _is_own_file(os.fstat(descriptor))
        return os.read(descriptor, entry.size) if same else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


class RemoteFiles:
    """A folder of an object store, read with fsspec. `system` is one of its file systems."""

    def __init__(self, system: Any, root: str) -> None:
        self._system = system
        self._root = root.rstrip("/")

    def search(self, folder: Folder, most: int, abandoned: Event) -> Listing:
        """See `RecordFiles`."""
        path = "/".join((self._root, *folder))
        try:
            found: list[dict[str, Any]] = self._system.ls(path, detail=True)
        except FileNotFoundError:
            return Listing()
        return first_entries(_objects(found, abandoned), most)

    def read(self, folder: Folder, entries: Sequence[Entry]) -> list[bytes | None]:
        """See `RecordFiles`. Requests go side by side where the driver can."""
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
    """Return the store at a URL of the operator's configuration. Raises ImportError and others.

    fsspec and its drivers are imported where a store is used: they take 0.1 s, and s3fs a second.
    """
    scheme = scheme_of(url)
    if not DRIVERS[scheme]:
        return LocalFiles(url.removeprefix("file://"))
    fsspec = import_module("fsspec")
    # A list that is kept would hide what was written since.
    system = fsspec.filesystem(scheme, use_listings_cache=False, skip_instance_cache=True)
    return RemoteFiles(system, str(system._strip_protocol(url)))
