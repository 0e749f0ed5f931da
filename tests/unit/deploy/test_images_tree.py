"""Copying so that equal files become equal images."""

import os
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from deploy.images import tree
from deploy.images.application import collect


def nothing_stays(path: PurePath) -> bool:
    del path
    return False


def test_no_file_is_writable_or_setuid(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("x")
    source.chmod(0o6777)
    tree.put(source, tmp_path / "deep" / "file")
    tree.put(source, tmp_path / "deep" / "program", program=True)
    assert (tmp_path / "deep" / "file").stat().st_mode & 0o7777 == 0o644
    assert (tmp_path / "deep" / "program").stat().st_mode & 0o7777 == 0o755


def test_links_become_what_they_lead_to_and_broken_ones_nothing(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "real").write_text("x")
    (source / "link").symlink_to("real")
    (source / "broken").symlink_to("gone")
    tree.put_tree(source, tmp_path / "target", nothing_stays)
    target = tmp_path / "target"
    assert sorted(path.name for path in target.iterdir()) == ["link", "real"]
    assert not (target / "link").is_symlink()


def test_omitted_files_are_not_copied(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    for name in ("a", "deep/b"):
        (source / name).write_text("x")
    tree.put_tree(source, tmp_path / "target", lambda path: path == PurePath("deep/b"))
    assert [path.name for path in (tmp_path / "target").rglob("*")] == ["a"]


def test_a_file_that_does_not_compile_ends_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text("def\n")
    with pytest.raises(ValueError, match=f"not everything in {tmp_path} compiles, see above"):
        tree.compile_all(tmp_path, tmp_path)
    assert "broken.py" in capsys.readouterr().out


def test_our_sources_are_compiled_for_their_place_and_never_checked(tmp_path: Path) -> None:
    sources = tmp_path / "sources" / "webhook"
    sources.mkdir(parents=True)
    (sources / "rule.py").write_text("def f():\n    raise ValueError\n")
    root = tmp_path / "image"
    collect(tmp_path / "sources", root)
    (compiled,) = root.rglob("*.pyc")
    # PEP 552: the second word says by what it is invalidated; 1 is by hash, unchecked.
    assert compiled.read_bytes()[4:8] == (1).to_bytes(4, "little")
    assert b"/app/webhook/rule.py" in compiled.read_bytes()
    assert str(tmp_path).encode() not in compiled.read_bytes()


def test_everything_has_one_time(tmp_path: Path) -> None:
    (tmp_path / "root" / "deep").mkdir(parents=True, mode=0o777)
    (tmp_path / "root" / "deep" / "file").write_text("x")
    (tmp_path / "root" / "link").symlink_to("deep/file")
    tree.settle(tmp_path / "root")
    for path in (tmp_path / "root", *(tmp_path / "root").rglob("*")):
        assert path.lstat().st_mtime == tree.EPOCH
    assert (tmp_path / "root" / "deep").stat().st_mode & 0o7777 == 0o755


def test_the_collector_needs_nothing_but_the_standard_library() -> None:
    """It runs in the base image, before anything is installed."""
    program = "import deploy.images.collect, sys; print(*sorted(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); {program}"],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    tops = {name.partition(".")[0] for name in ran.stdout.split()}
    assert tops - set(sys.stdlib_module_names) - {"__main__"} == {"deploy"}
