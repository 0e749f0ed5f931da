import os
import shutil
from typing import Any

import pytest

from localcluster.images import requirements
from localcluster.machine.errors import ToolMissing


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Programs that are not installed; every other one is."""
    names: set[str] = set()

    def which(name: str, **_: Any) -> str | None:
        return None if name in names else f"/usr/bin/{name}"

    monkeypatch.setattr(shutil, "which", which)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return names


def test_root_with_all_programs_lacks_nothing(absent: set[str]) -> None:
    assert absent == set()
    requirements.require()


def test_missing_programs_are_named_with_their_packages(
    absent: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent.update(("buildah", "debootstrap"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ToolMissing) as missing:
        requirements.require()
    assert str(missing.value) == (
        "Building images with buildah needs root, and this is another user."
        " Programs are missing: buildah, debootstrap. On Debian:"
        " apt-get install --no-install-recommends buildah debootstrap"
    )


def test_a_base_image_by_name_needs_no_debootstrap(absent: set[str]) -> None:
    absent.add("debootstrap")
    requirements.require(stand_in=False)
