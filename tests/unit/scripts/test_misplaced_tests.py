from pathlib import Path

import pytest

from scripts.misplaced_tests import module_of, offences


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one module in a package, and one of the tests' own modules."""
    for module in ("room/apply/status.py", "tests/support/patience.py"):
        (tmp_path / module).parent.mkdir(parents=True)
        (tmp_path / module).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("test", "module"),
    [
        ("room/apply/test_status.py", "room/apply/status.py"),
        ("room/apply/test_status_kept_components.py", "room/apply/status.py"),
        ("room/test_apply.py", "room/apply"),
        ("support/test_patience.py", "tests/support/patience.py"),
        ("room/apply/test_stat.py", None),
        ("room/test_status.py", None),
        ("room/other/test_status.py", None),
    ],
)
def test_a_test_belongs_to_the_module_whose_name_and_folder_it_has(
    test: str, module: str | None, tree: Path
) -> None:
    assert module_of(Path("tests/unit") / test, tree) == (module and Path(module))


def test_a_misplaced_test_gets_one_line_with_its_right_name(tree: Path) -> None:
    paths = ["room/apply/test_status.py", "room/test_status.py", "room/conftest.py"]
    assert list(offences([Path("tests/unit") / each for each in paths], tree)) == [
        "tests/unit/room/test_status.py: no module of this name; "
        "name the file test_MODULE.py or test_MODULE_TOPIC.py, in the folder of the module"
    ]


@pytest.mark.parametrize(
    "test", ["tests/unit/docs/test_links.py", "tests/integration/shared/test_samples.py"]
)
def test_a_test_of_pages_or_of_a_cluster_needs_no_module(test: str, tree: Path) -> None:
    assert list(offences([Path(test)], tree)) == []
