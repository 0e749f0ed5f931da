import errno
import os
from pathlib import Path

import pytest

from localcluster.images.archives import Archives
from localcluster.machine.errors import DiskFull, LocalClusterError
from localcluster.machine.locks import FileLock
from localcluster.machine.progress import silent

KEYS = [f"{number:016x}" for number in range(6)]


async def save(path: Path) -> None:
    path.write_text("an image")


async def test_a_stored_archive_is_found(tmp_path: Path) -> None:
    archives = Archives(tmp_path / "images")
    assert archives.find("x:1", "webhook", KEYS[0]) is None
    async with archives.work_folder(silent) as work:
        kept = await archives.keep("x:1", "webhook", KEYS[0], work, save)
    assert kept.archive == tmp_path / "images" / f"webhook-{KEYS[0]}" / "image.tar"
    assert kept.name == "x:1"
    assert archives.find("x:1", "webhook", KEYS[0]) == kept
    assert archives.find("x:1", "webhook", KEYS[1]) is None


async def test_a_failed_archive_is_not_stored(tmp_path: Path) -> None:
    async def fail(path: Path) -> None:
        path.write_text("half of it")
        raise RuntimeError

    archives = Archives(tmp_path)
    with pytest.raises(RuntimeError):
        async with archives.work_folder(silent) as work:
            await archives.keep("x:1", "webhook", KEYS[0], work, fail)
    assert archives.find("x:1", "webhook", KEYS[0]) is None
    assert not work.exists()


async def test_remains_of_a_killed_build_are_deleted(tmp_path: Path) -> None:
    (tmp_path / ".work" / "storage").mkdir(parents=True)
    (tmp_path / "build.log").write_text("of the last build")
    archives = Archives(tmp_path)
    async with archives.work_folder(silent) as work:
        assert list(work.iterdir()) == []
        assert archives.log.read_bytes() == b""


async def test_the_least_recently_used_are_forgotten(tmp_path: Path) -> None:
    archives = Archives(tmp_path)
    async with archives.work_folder(silent) as work:
        await archives.keep("x:1", "controller", KEYS[0], work, save)
        for second, key in enumerate(KEYS[:4]):
            await archives.keep("x:1", "webhook", key, work, save)
            os.utime(tmp_path / f"webhook-{key}", (second, second))
        archives.find("x:1", "webhook", KEYS[0])
        await archives.keep("x:1", "webhook", KEYS[4], work, save)
    left = sorted(path.name for path in tmp_path.glob("*-0*"))
    assert left == [
        f"controller-{KEYS[0]}",
        *(f"webhook-{KEYS[index]}" for index in (0, 2, 3, 4)),
    ]


async def test_a_second_run_waits_and_names_the_first(tmp_path: Path) -> None:
    archives = Archives(tmp_path)
    lock = FileLock.try_take(tmp_path / "build.lock")
    assert lock is not None
    heard: list[str] = []

    def listen(line: str) -> None:
        heard.append(line)
        lock.release()  # the first run ends as soon as the second says that it waits

    async with archives.work_folder(listen) as work:
        assert work.is_dir()
    assert heard[0] == f"  ...  wait for process {os.getpid()}, which builds images"


async def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "images"
    with pytest.raises(LocalClusterError) as refused:
        async with Archives(folder).work_folder(silent):
            pytest.fail("there is no such folder")
    assert str(refused.value) == (
        f"Images cannot be kept in {folder}: Not a directory. Set XDG_CACHE_HOME to a folder that"
        " this user can write to."
    )


@pytest.mark.parametrize(
    ("code", "raised"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, OSError)]
)
async def test_a_full_disk_is_distinguished_from_other_errors(
    tmp_path: Path, code: int, raised: type[Exception]
) -> None:
    with pytest.raises(raised) as failed:
        async with Archives(tmp_path).work_folder(silent) as work:
            raise OSError(code, os.strerror(code))
    assert not work.exists()
    if raised is DiskFull:
        assert str(failed.value) == (
            f"The disk became full in {tmp_path}. Free some space, or set XDG_CACHE_HOME to a"
            " folder on a larger disk."
        )
