import os
import tempfile
from pathlib import Path

import pytest

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.folder import ClusterFolder, running_owner, sweep, sweep_temporary


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the system's folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def left_by_a_killed_run(path: Path) -> Path:
    (path / "logs").mkdir(parents=True)
    (path / "logs" / "etcd.log").write_text("hello")
    (path / "lock").write_text("1\n")
    return path


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_claimed_folder_is_removed_whole(temporary: Path, tmp_path: Path) -> None:
    folder = ClusterFolder.claim(tmp_path / "a" / "cluster")
    assert running_owner(folder.path) == os.getpid()
    (folder.path / "etcd").mkdir()
    (folder.path / "link").symlink_to(tmp_path)
    folder.remove()
    assert not folder.path.exists()
    assert names(tmp_path) == ["a", "temporary"]
    folder.remove()


def test_second_claim_is_refused(temporary: Path, tmp_path: Path) -> None:
    path = tmp_path / "cluster"
    folder = ClusterFolder.claim(path)
    with pytest.raises(LocalClusterError) as caught:
        ClusterFolder.claim(path)
    assert str(caught.value) == (
        f"A cluster is running already in {path} (process {os.getpid()})."
        f" `python -m localcluster status --dir {path}` shows it, `down` ends it."
    )
    assert not sweep(path)
    folder.remove()


def test_folder_of_a_killed_run_is_swept_and_claimed(temporary: Path, tmp_path: Path) -> None:
    path = left_by_a_killed_run(tmp_path / "cluster")
    assert running_owner(path) is None
    folder = ClusterFolder.claim(path)
    assert names(path) == ["lock"]
    folder.remove()


def test_folder_with_other_things_in_it_is_left_alone(temporary: Path, tmp_path: Path) -> None:
    path = tmp_path / "thesis"
    path.mkdir()
    (path / "chapter").write_text("one")
    with pytest.raises(LocalClusterError) as caught:
        ClusterFolder.claim(path)
    assert str(caught.value) == (
        f"{path} is no cluster's folder and is not empty. Use --dir to name another one."
    )
    assert names(path) == ["chapter"]
    assert not sweep(path)


def test_temporary_folder_of_a_killed_run_is_swept_by_the_next(temporary: Path) -> None:
    left_by_a_killed_run(temporary / "appwrapper-cluster-killed")
    running = ClusterFolder.claim(None)
    kept = running.keep_logs(left_by_a_killed_run(temporary / "elsewhere") / "logs")
    other = ClusterFolder.claim(None)
    expected = sorted([running.path.name, other.path.name, kept.name, "elsewhere"])
    assert names(temporary) == expected
    assert (kept / "etcd.log").read_text() == "hello"
    for folder in (running, other):
        folder.remove()
    assert names(temporary) == sorted([kept.name, "elsewhere"])


def test_sweep_of_what_is_no_cluster_does_nothing(temporary: Path) -> None:
    (temporary / "appwrapper-cluster-just-made").mkdir()
    sweep_temporary()
    assert names(temporary) == ["appwrapper-cluster-just-made"]
