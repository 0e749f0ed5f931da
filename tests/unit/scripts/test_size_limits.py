"""The checks of `make lint` that are our own: each must be able to fail."""

from pathlib import Path

from scripts import crossed, size_limits, tracked_files
from shared.api.findings import quoted


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


def test_half_of_the_products_modules_have_the_least_lines_or_more() -> None:
    lines = {
        Path("webhook/a.py"): 99,
        Path("controller/b.py"): 100,
        Path("shared/c/d.py"): 300,
        Path("shared/c/__init__.py"): 1,
        Path("tests/e.py"): 1,
    }
    assert list(size_limits.splinters(lines)) == []
    assert list(size_limits.splinters(lines | {Path("controller/b.py"): 99})) == [
        "the median module of cli, controller, shared, webhook, worker has 99 lines,"
        " and 100 are the least: merge what is read together"
    ]


def test_a_pass_and_a_review_may_cross_so_many_files_and_no_more() -> None:
    names = [f"shared/{number}.py" for number in range(crossed.MOST["pass"] + 1)]
    allowed = {"pass": names[1:], "review": names[: crossed.MOST["review"]]}
    assert crossed.offences(allowed) == []
    most = crossed.MOST["pass"]
    assert crossed.offences(allowed | {"pass": names}) == [
        f"a healthy pass crosses {most + 1} files, the limit is {most}"
    ]


def test_only_the_products_files_of_a_pass_are_counted() -> None:
    with crossed.Crossed() as seen:
        list(size_limits.splinters({}))
        assert quoted("text") == '"text"'
    assert seen.files == ["shared/api/findings.py"]


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
