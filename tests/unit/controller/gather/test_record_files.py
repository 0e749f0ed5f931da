"""What users may put into the folder of an attempt, and what is read of it."""

import gc
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from controller.gather.record_files import (
    Entry,
    Listing,
    LocalFiles,
    RecordFiles,
    RemoteFiles,
    files_at,
)

FOLDER = ("team1", "train", "u1", "2")
MOST = 100


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tmp_path.joinpath("store", *FOLDER).mkdir(parents=True)
    return tmp_path / "store"


@pytest.fixture
def memory() -> Iterator[Any]:
    system: Any = import_module("fsspec").filesystem("memory", skip_instance_cache=True)
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def search(files: RecordFiles, most: int = MOST) -> Listing:
    return files.search(FOLDER, most, Event())


def entries(*names: str, size: int = 3) -> tuple[Entry, ...]:
    return tuple(Entry(name, size) for name in names)


def local(root: Path, **contents: bytes) -> LocalFiles:
    for name, content in contents.items():
        root.joinpath(*FOLDER, f"{name}.pb").write_bytes(content)
    return LocalFiles(str(root))


def test_files_are_found_by_name_and_sorted(root: Path) -> None:
    files = local(root, errorb=b"abc", error=b"", errora=b"abcd", other=b"x")
    root.joinpath(*FOLDER, "error-c.pb.tmp").write_bytes(b"half")
    assert search(files) == Listing(
        (Entry("error.pb", 0), Entry("errora.pb", 4), Entry("errorb.pb", 3))
    )
    assert files.read(FOLDER, entries("errorb.pb")) == [b"abc"]


def test_the_first_by_name_count(root: Path) -> None:
    files = local(root, **{f"error{each}": b"abc" for each in "cab"})
    assert search(files, most=2) == Listing(entries("errora.pb", "errorb.pb"), more=1)


def test_an_attempt_without_a_folder_has_no_records(root: Path) -> None:
    assert LocalFiles(str(root)).search((*FOLDER[:3], "3"), MOST, Event()) == Listing()


def test_a_store_without_its_folder_is_a_problem(root: Path) -> None:
    """A volume that is not mounted looks like that."""
    with pytest.raises(FileNotFoundError):
        search(LocalFiles(f"{root}/elsewhere"))


def test_no_link_leads_out_of_the_folder(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"key")
    folder = root.joinpath(*FOLDER)
    folder.joinpath("error-soft.pb").symlink_to(secret)
    folder.joinpath("error-hard.pb").hardlink_to(secret)
    files = local(root, error=b"abc")
    assert search(files) == Listing(entries("error.pb"))
    names = ("error-soft.pb", "error-hard.pb", "error.pb", "error-gone.pb")
    assert files.read(FOLDER, entries(*names)) == [None, None, b"abc", None]


@pytest.mark.parametrize("depth", range(len(FOLDER)))
def test_no_folder_on_the_way_may_be_a_link(tmp_path: Path, depth: int) -> None:
    other = tmp_path.joinpath("other", *FOLDER[depth + 1 :])
    other.mkdir(parents=True)
    other.joinpath("error.pb").write_bytes(b"key")
    way = tmp_path.joinpath("store", *FOLDER[:depth])
    way.mkdir(parents=True)
    way.joinpath(FOLDER[depth]).symlink_to(tmp_path / "other")
    files = LocalFiles(str(tmp_path / "store"))
    with pytest.raises(NotADirectoryError):
        search(files)
    with pytest.raises(NotADirectoryError):
        files.read(FOLDER, entries("error.pb"))


def test_the_stores_own_folder_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mount").symlink_to(root)
    local(root, error=b"abc")
    assert search(LocalFiles(str(tmp_path / "mount"))) == Listing(entries("error.pb"))


def test_only_regular_files_are_opened(root: Path) -> None:
    folder = root.joinpath(*FOLDER)
    os.mkfifo(folder / "error-pipe.pb")
    (folder / "error-folder.pb").mkdir()
    files = LocalFiles(str(root))
    assert search(files) == Listing()
    assert files.read(FOLDER, entries("error-pipe.pb", "error-folder.pb")) == [None, None]


def test_no_more_is_read_than_was_listed(root: Path) -> None:
    """A file that grows meanwhile fills no memory."""
    assert local(root, error=b"abcdef").read(FOLDER, entries("error.pb")) == [b"abc"]


def test_names_that_are_no_text(root: Path) -> None:
    folder = os.fsencode(root.joinpath(*FOLDER))
    with open(folder + b"/error-\xff.pb", "wb") as file:
        file.write(b"abc")
    files = LocalFiles(str(root))
    (entry,) = search(files).entries
    assert files.read(FOLDER, [entry]) == [b"abc"]


def test_an_abandoned_search_ends(root: Path) -> None:
    files = local(root, error=b"abc")
    abandoned = Event()
    abandoned.set()
    assert files.search(FOLDER, MOST, abandoned) == Listing()


def test_no_descriptor_stays_open(root: Path) -> None:
    files = local(root, error=b"abc")
    gc.collect()  # what earlier tests left open is closed now, and not meanwhile
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        search(files)
        files.read(FOLDER, entries("error.pb", "error-gone.pb"))
        files.search((*FOLDER, "deeper"), MOST, Event())
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_object_store_is_read_alike(memory: Any) -> None:
    files = RemoteFiles(memory, "/bucket/errors/")
    base = "/bucket/errors/" + "/".join(FOLDER)
    for name in ("error-b.pb", "error.pb", "else.pb"):
        memory.pipe_file(f"{base}/{name}", b"abc")
    memory.pipe_file(f"{base}/error-x.pb/error.pb", b"of a folder")
    assert search(files) == Listing(entries("error-b.pb", "error.pb"))
    assert search(files, most=1) == Listing(entries("error-b.pb"), more=1)
    names = ("error.pb", "error-gone.pb", "error-b.pb")
    assert files.read(FOLDER, entries(*names, size=2)) == [b"ab", None, b"ab"]


def test_an_attempt_without_objects_has_no_records(memory: Any) -> None:
    assert search(RemoteFiles(memory, "/bucket")) == Listing()


def test_an_abandoned_search_reads_no_object_store(memory: Any) -> None:
    memory.pipe_file("/bucket/" + "/".join(FOLDER) + "/error.pb", b"abc")
    abandoned = Event()
    abandoned.set()
    assert RemoteFiles(memory, "/bucket").search(FOLDER, MOST, abandoned) == Listing()


def test_a_url_leads_to_its_store(root: Path) -> None:
    local(root, error=b"abc")
    assert search(files_at(f"file://{root}/")) == Listing(entries("error.pb"))


def test_a_driver_that_is_not_installed() -> None:
    with pytest.raises(ImportError, match="s3fs"):
        files_at("s3://bucket/x")
