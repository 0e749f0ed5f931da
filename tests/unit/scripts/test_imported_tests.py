"""Which imports the check of tests/ refuses."""

from pathlib import Path

import pytest

from scripts.imported_tests import offences
from scripts.size_limits import tracked_modules


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("from tests.unit.test_a import b", "tests.unit.test_a.b"),
        ("from tests.unit import test_a", "tests.unit.test_a"),
        ("from tests.unit import other, test_a as a", "tests.unit.test_a"),
        ("import tests.unit.test_a", "tests.unit.test_a"),
        ("import tests.unit.test_a as a", "tests.unit.test_a"),
        ("from .test_a import b", "test_a.b"),
        ("from . import test_a", "test_a"),
        ("def f():\n    from tests.unit.test_a import b", "tests.unit.test_a.b"),
    ],
)
def test_an_import_of_a_test_module_is_refused(statement: str, name: str) -> None:
    lines = statement.count("\n") + 1
    assert list(offences(Path("a.py"), statement)) == [
        f"a.py:{lines}: imports {name}, a test module; what tests share is in tests/support"
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "from tests.support.patience import comes_to",
        "from tests.e2e import product_pods",
        "import tests.support.patience",
        "from some.library import test_client",
    ],
)
def test_shared_modules_may_be_imported(statement: str) -> None:
    assert list(offences(Path("a.py"), statement)) == []


def test_the_check_sees_the_tests() -> None:
    assert Path("tests/support/patience.py") in tracked_modules()
