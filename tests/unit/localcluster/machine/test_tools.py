from pathlib import Path

import pytest

from localcluster.machine import tools
from localcluster.machine.tools import system_path

SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/opt/mine/bin", f"/opt/mine/bin:{SYSTEM}"), ("", SYSTEM)],
)
def test_programs_of_root_are_found_whatever_path_there_is(path: str, expected: str) -> None:
    assert system_path({"PATH": path}) == {"PATH": expected}


def test_without_any_path_too() -> None:
    assert system_path({}) == {"PATH": SYSTEM}


def test_programs_are_found_in_the_folders_of_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "debootstrap").write_text("#!/bin/sh\n")
    (tmp_path / "debootstrap").chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(tools, "_SYSTEM_PATH", str(tmp_path))
    assert tools.missing_programs({"a": ("debootstrap", "none")}) == {"a": ["none"]}
