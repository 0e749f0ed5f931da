"""The archive of this machine's packages, as apt reports it."""

from pathlib import Path

import pytest

from localcluster.images.stand_in import archive_of
from localcluster.machine.errors import ToolMissing


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose file `archives` is the answer of apt-get, and `arguments` its question."""
    program = tmp_path / "apt-get"
    program.write_text(f'#!/bin/sh\necho "$*" >{tmp_path}/arguments\ncat {tmp_path}/archives\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_the_first_archive_of_the_release_is_used(apt: Path) -> None:
    (apt / "archives").write_text("http://near.example/debian/\nhttp://far.example/debian/\n")
    assert archive_of("trixie") == "http://near.example/debian"
    assert (apt / "arguments").read_text() == (
        "indextargets --format $(REPO_URI) Created-By: Packages Release: trixie Component: main\n"
    )


def test_the_first_of_a_list_of_mirrors_is_used(apt: Path) -> None:
    mirrors = apt / "mirrors.list"
    (apt / "archives").write_text(f"mirror+file:{mirrors}/\n")
    with pytest.raises(ToolMissing) as missing:
        archive_of("trixie")
    assert str(missing.value) == (
        f"apt's source mirror+file:{mirrors}/ names no mirror: {mirrors} is absent or empty."
    )
    mirrors.write_text(
        "# near\nhttps://near.example/debian\tpriority:1\nhttp://far.example/debian\n"
    )
    assert archive_of("trixie") == "https://near.example/debian"


@pytest.mark.parametrize("installed", [True, False])
def test_without_the_release_the_next_step_is_reported(
    installed: bool, apt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (apt / "archives").touch()
    if not installed:
        monkeypatch.setenv("PATH", str(apt / "empty"))
    with pytest.raises(ToolMissing) as missing:
        archive_of("trixie")
    assert str(missing.value) == (
        "No source of apt has the release trixie with its component main. A base image's stand-in"
        " is made from it; name an image instead (--base-image)."
    )
