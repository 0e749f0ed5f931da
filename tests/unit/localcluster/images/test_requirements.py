import os
from pathlib import Path

import pytest

from localcluster.images import requirements
from localcluster.machine.errors import ToolMissing


@pytest.fixture
def no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(requirements, "search_path", lambda: str(tmp_path))
    return tmp_path


def program(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_root_with_all_programs_lacks_nothing(
    no_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("buildah", "debootstrap", "unshare"):
        program(no_programs, name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert requirements.missing() == []
    requirements.require()


def test_missing_programs_are_named_with_their_packages(
    no_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(no_programs, "unshare")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said = [
        "Building images with buildah needs root, and this is another user.",
        "Not installed: buildah, debootstrap. On Debian:"
        " apt-get install --no-install-recommends buildah debootstrap",
    ]
    assert requirements.missing() == said
    with pytest.raises(ToolMissing) as missing:
        requirements.require()
    assert str(missing.value) == " ".join(said)


def test_a_base_image_by_name_needs_no_debootstrap(
    no_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("buildah", "unshare"):
        program(no_programs, name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert requirements.missing(stand_in=False) == []


def test_programs_for_root_are_found_where_the_shell_does_not_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert requirements.search_path() == "/nowhere:/usr/local/sbin:/usr/sbin:/sbin"
