"""The checks of `make lint` that are our own: each must be able to fail."""

from pathlib import Path

import pytest

from scripts.lint_rules import (
    imported_tests,
    machine_specific,
    misplaced_test,
    offences,
    repeated_classes,
    too_long,
)


def test_a_module_of_the_limit_passes_and_one_line_more_does_not() -> None:
    path = Path("a.py")
    assert list(too_long(path, "x = 1\n" * 400)) == []
    assert list(too_long(path, "x = 1\n" * 401)) == [
        "a.py:1: module has 401 lines, the limit is 400"
    ]


def test_plain_english_is_one_of_the_rules() -> None:
    assert list(offences(Path("a.md"), "Kueue starts the pods anew.")) == [
        'a.md:1: "anew": write again, new'
    ]


def test_a_function_of_the_limit_passes_and_one_line_more_does_not() -> None:
    path = Path("a.py")
    assert list(too_long(path, "def f():\n" + "    x = 1\n" * 59)) == []
    assert list(too_long(path, "async def f():\n" + "    x = 1\n" * 60)) == [
        "a.py:1: function f has 61 lines, the limit is 60"
    ]


def test_a_public_class_name_of_another_product_module_is_refused() -> None:
    pair = "class Pair: ...\nclass _Own: ...\n"
    names = ("cli/a.py", "tests/a.py", "shared/b.py", "cli/c.md")
    assert list(repeated_classes((Path(name), pair) for name in names)) == [
        "shared/b.py:1: cli/a.py defines a class Pair, too"
    ]


def test_machine_paths_and_index_addresses_are_refused() -> None:
    path = Path("a.txt")
    home = "/" + "root/thing"
    index = "https://" + "py" + "pi.org/simple"
    text = f"fine\n{home}\n{index}\n--index" + "-url x\n"
    assert list(machine_specific(path, text)) == [
        f"a.txt:2: a machine path: {home[:7]}",
        f"a.txt:3: a package index's address: {index[:16]}",
        "a.txt:4: a package index option: --index" + "-url",
    ]


def test_ordinary_paths_and_addresses_pass() -> None:
    # In parts, so that this file itself names nothing that looks like a path of some machine.
    text = "see docs/" + "work/notes, https://kueue.sigs.k8s.io and ./" + "root/thing\n"
    assert list(machine_specific(Path("a.md"), text)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "from tests.unit.test_a import b",
        "from tests.unit import test_a",
        "from tests.unit import other, test_a as a",
        "from tests.unit import (\n    other,\n    test_a,\n)",
        "import tests.unit.test_a as a",
        "from .test_a import b",
        "from . import test_a",
        "from tests import test_a",
        "def f():\n    from tests.unit.test_a import b",
    ],
)
def test_an_import_of_a_test_module_is_refused(statement: str) -> None:
    line = 2 if statement.startswith("def") else 1
    assert list(imported_tests(Path("a.py"), statement)) == [
        f"a.py:{line}: imports test_a, a test module; what tests share is in tests/support"
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "from tests.support.patience import comes_to",
        "import tests.support.patience",
        "from some.library import test_client",
    ],
)
def test_shared_modules_may_be_imported(statement: str) -> None:
    assert list(imported_tests(Path("a.py"), statement)) == []


@pytest.mark.parametrize(
    ("test", "belongs"),
    [
        ("unit/room/apply/test_status.py", True),
        ("unit/room/apply/test_status_kept_components.py", True),
        ("unit/room/test_apply.py", True),
        ("unit/support/test_patience.py", True),
        ("unit/docs/test_links.py", True),
        ("unit/room/conftest.py", True),
        ("integration/shared/test_samples.py", True),
        ("unit/room/apply/test_stat.py", False),
        ("unit/room/test_status.py", False),
        ("unit/room/other/test_status.py", False),
    ],
)
def test_a_unit_test_belongs_to_the_module_whose_name_and_folder_it_has(
    test: str, belongs: bool, tmp_path: Path
) -> None:
    for module in ("room/apply/status.py", "tests/support/patience.py"):
        (tmp_path / module).parent.mkdir(parents=True)
        (tmp_path / module).touch()
    line = (
        f"tests/{test}:1: no module of this name; "
        "name the file test_MODULE.py or test_MODULE_TOPIC.py, in the folder of the module"
    )
    assert list(misplaced_test(Path("tests") / test, tmp_path)) == ([] if belongs else [line])
