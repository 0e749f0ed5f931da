"""Mutants are tried in copies of the tree, and every mutant of the list fits today's code."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.mutants.__main__ import LIST, ROOT
from scripts.mutants.plan import BadMutant, Edit, Mutant, read
from scripts.mutants.report import Verdict
from scripts.mutants.run import Tree, load, save, try_all

MODULE = "controller/clock.py"
TEST = "tests/unit/controller/test_clock.py"
# In place of pytest: fails with its summary if a text is missing, else passes.
TESTS_FAIL_WITHOUT = """
grep -q "$0" controller/clock.py && exit 0
echo "FAILED tests/unit/controller/test_clock.py::test_due[1-a b] - assert False"
exit 1
"""


def pytest_fails_without(text: str) -> tuple[str, ...]:
    return ("sh", "-c", TESTS_FAIL_WITHOUT, text)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A repository of one module and its test."""
    root = tmp_path_factory.mktemp("repository")
    files = {MODULE: "def is_due(left):\n    return left <= 0\n", TEST: "def test_due(): ..."}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return Tree(root)


def mutant(name: str, new: str) -> Mutant:
    return Mutant(name, "a fault", (Edit(MODULE, "left <= 0", new),))


async def killers_of(
    tree: Tree, mutants: list[Mutant], pytest: tuple[str, ...]
) -> tuple[dict[str, str | None], str | None]:
    """Return the killer of each mutant, and the test that fails without a fault."""
    found: dict[str, str | None] = {}

    def report(mutant: Mutant, verdict: Verdict) -> None:
        found[mutant.name] = verdict.killer

    return found, await try_all(tree, mutants, 1, report, pytest)


async def test_each_mutant_gets_its_verdict_and_the_tree_stays_unchanged(tree: Tree) -> None:
    late, soon = mutant("late", "left < 0"), mutant("soon", "left <= 0 or left == 1")
    answers = pytest_fails_without("left <= 0")
    assert await killers_of(tree, [late, soon], answers) == (
        {"late": f"{TEST}::test_due", "soon": None},
        None,
    )
    assert "left <= 0\n" in (tree.root / MODULE).read_text()


async def test_a_killer_that_fails_on_the_unchanged_tree_is_returned(tree: Tree) -> None:
    answers = pytest_fails_without("no such text")
    assert await killers_of(tree, [mutant("late", "left < 0")], answers) == (
        {"late": f"{TEST}::test_due"},
        f"{TEST}::test_due",
    )


async def test_a_test_that_does_not_end_kills(tree: Tree) -> None:
    answers = ("sh", "-c", "echo '+++++ Timeout +++++'; exit 1")
    found, _ = await killers_of(tree, [mutant("late", "left < 0")], answers)
    assert found == {"late": f"{TEST}, a test of which does not end"}


async def test_a_pytest_that_cannot_run_is_an_error_that_names_the_mutant(tree: Tree) -> None:
    answers = ("sh", "-c", "echo 'no such option'; exit 4")
    with pytest.raises(BadMutant, match="late: pytest ended with 4:\nno such option"):
        await killers_of(tree, [mutant("late", "left < 0")], answers)


async def test_a_file_that_is_gone_is_an_error_that_names_the_mutant(tree: Tree) -> None:
    gone = Mutant("gone", "a fault", (Edit("controller/gone.py", "a", "b"),))
    with pytest.raises(BadMutant, match=r"gone: there is no file controller/gone\.py"):
        await killers_of(tree, [gone], ())


def test_a_kill_and_a_survival_depend_on_different_files(tree: Tree) -> None:
    late = mutant("late", "left < 0")
    assert tree.digest(late, None) != tree.digest(late, f"{TEST}::test_due")


def test_a_survival_holds_until_any_test_changes_and_a_kill_until_its_own(tree: Tree) -> None:
    late, killer = mutant("late", "left < 0"), f"{TEST}::test_due"
    survived, killed = tree.digest(late, None), tree.digest(late, killer)
    other = tree.root / "tests/unit/controller/test_other.py"
    other.write_text("def test_other(): ...")
    try:
        changed = Tree(tree.root)
        assert changed.digest(late, None) != survived
        assert changed.digest(late, killer) == killed
    finally:
        other.unlink()
    assert tree.digest(replace(late, tests=(TEST,)), None) != survived


def test_verdicts_are_kept_between_runs(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "mutants.json"
    assert load(path) == {}
    verdicts = {"late": Verdict("a test", 1.5, "digest"), "soon": Verdict(None, 0.5, "digest")}
    save(path, verdicts)
    assert load(path) == verdicts


def test_every_mutant_of_the_list_fits_todays_code() -> None:
    tree = Tree(ROOT)
    for each in read(LIST.read_text()):
        tree.mutated(each)
