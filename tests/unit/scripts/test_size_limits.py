"""The checks of `make lint` that are our own: each must be able to fail."""

from pathlib import Path

from scripts import size_limits, tracked_files


def test_a_module_of_the_limit_passes_and_one_line_more_does_not() -> None:
    path = Path("a.py")
    assert list(size_limits.offences(path, "x = 1\n" * 400)) == []
    assert list(size_limits.offences(path, "x = 1\n" * 401)) == [
        "a.py:1: module has 401 lines, the limit is 400"
    ]


def test_a_function_of_the_limit_passes_and_one_line_more_does_not() -> None:
    path = Path("a.py")
    assert list(size_limits.offences(path, "def f():\n" + "    x = 1\n" * 59)) == []
    assert list(size_limits.offences(path, "async def f():\n" + "    x = 1\n" * 60)) == [
        "a.py:1: function f has 61 lines, the limit is 60"
    ]


def test_machine_paths_and_index_addresses_are_refused() -> None:
    path = Path("a.txt")
    home = "/" + "root/thing"
    index = "https://" + "py" + "pi.org/simple"
    text = f"fine\n{home}\n{index}\n--index" + "-url x\n"
    assert list(tracked_files.offences(path, text)) == [
        f"a.txt:2: a machine path: {home[:7]}",
        f"a.txt:3: a package index's address: {index[:16]}",
        "a.txt:4: a package index option: --index" + "-url",
    ]


def test_ordinary_paths_and_addresses_pass() -> None:
    # In parts, so that this file itself names nothing that looks like a path of some machine.
    text = "see docs/" + "work/notes, https://kueue.sigs.k8s.io and ./" + "root/thing\n"
    assert list(tracked_files.offences(Path("a.md"), text)) == []
