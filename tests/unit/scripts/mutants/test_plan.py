"""How tests/mutants.toml is read, which tests a mutant meets, and what its verdict depends on."""

from dataclasses import replace

import pytest

from scripts.mutants.plan import (
    BadMutant,
    Edit,
    Mutant,
    Stage,
    chosen,
    digest,
    mutated,
    read,
    stages,
)

LATE = """
[[mutant]]
name = "late"
fault = "a period ends one moment late"
file = "controller/phases/timers.py"
old = "left < 0"
new = "left <= 0"
"""
MUTANT = Mutant("late", "a fault", (Edit("controller/phases/timers.py", "a < b", "a <= b"),))


def test_each_entry_becomes_a_mutant() -> None:
    edit = Edit("controller/phases/timers.py", "left < 0", "left <= 0")
    assert read(LATE) == [Mutant("late", "a period ends one moment late", (edit,))]


def test_a_combined_mutant_has_the_edits_of_both() -> None:
    both = LATE.replace('"late"', '"both"').replace("timers.py", "phase.py") + 'with = ["late"]'
    assert [edit.file for edit in read(LATE + both)[1].edits] == [
        "controller/phases/phase.py",
        "controller/phases/timers.py",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LATE + LATE, "late: two mutants have this name"),
        (LATE.replace("fault =", "faults ="), "late: fault: Field required"),
        (LATE + "test = []", "late: test: Extra inputs are not permitted"),
        (LATE + 'with = ["later"]', "late: no mutant above it is named later"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(BadMutant, match=message):
        read(text)


@pytest.mark.parametrize("pattern", ["late", "l*", "controller/phases/*"])
def test_a_pattern_chooses_by_name_or_file(pattern: str) -> None:
    other = replace(MUTANT, name="other", edits=(Edit("webhook/app.py", "", ""),))
    assert chosen([MUTANT, other], pattern) == [MUTANT]


def test_a_pattern_without_a_mutant_is_refused() -> None:
    with pytest.raises(BadMutant, match="early: no mutant has this name or file"):
        chosen([MUTANT], "early")


def test_the_fault_replaces_its_text() -> None:
    assert mutated(MUTANT, lambda _: "if a < b: pass") == {
        "controller/phases/timers.py": "if a <= b: pass"
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("if b > a: pass", "late: controller/phases/timers.py contains its old text 0 times"),
        ("a < b or a < b", "late: controller/phases/timers.py contains its old text 2 times"),
        ("if a < b", "late: controller/phases/timers.py is no longer Python"),
    ],
)
def test_a_fault_that_does_not_fit_is_refused_by_name(source: str, message: str) -> None:
    with pytest.raises(BadMutant, match=message):
        mutated(MUTANT, lambda _: source)


def test_a_fault_that_changes_nothing_is_refused() -> None:
    same = replace(MUTANT, edits=(Edit("a.py", "a < b", "a < b"),))
    with pytest.raises(BadMutant, match="late: its new text is its old text"):
        mutated(same, lambda _: "a < b")


MODULES = (
    "tests/simulation/api/test_store.py",
    "tests/simulation/test_world.py",
    "tests/unit/cli/test_main.py",
    "tests/unit/controller/phases/test_ask.py",
    "tests/unit/controller/phases/test_timers.py",
    "tests/unit/controller/phases/test_timers_stored.py",
    "tests/unit/controller/test_main.py",
    "tests/unit/shared/kube/test_client.py",
)
WORLD = "tests/simulation/test_world.py"
PHASES = "tests/unit/controller/phases"


BESIDE = (f"{PHASES}/test_timers.py", f"{PHASES}/test_timers_stored.py")


def test_the_narrowest_tests_come_first_and_none_comes_twice() -> None:
    assert list(stages(MUTANT, MODULES)) == [
        Stage(BESIDE),
        Stage((PHASES,), BESIDE),
        Stage(("tests/unit/controller",), (*BESIDE, PHASES)),
        Stage((WORLD,)),
    ]


def test_the_mutants_own_tests_come_before_all_others() -> None:
    own = replace(MUTANT, tests=("tests/unit/cli/test_main.py::test_a", "tests/unit/gone.py"))
    assert list(stages(own, MODULES))[:2] == [
        Stage(("tests/unit/cli/test_main.py::test_a",)),
        Stage(BESIDE),
    ]


def test_a_fault_in_shared_meets_the_tests_of_every_program() -> None:
    shared = replace(MUTANT, edits=(Edit("shared/kube/client.py", "", ""),))
    assert [each.paths for each in stages(shared, MODULES)] == [
        ("tests/unit/shared/kube/test_client.py",),
        ("tests/unit/shared/kube",),
        ("tests/unit/shared",),
        ("tests/unit/controller", "tests/unit/cli"),
        (WORLD,),
    ]


def test_a_verdict_holds_until_a_file_or_a_test_changes() -> None:
    known = digest({"a.py": "1"}, b"test")
    assert known == digest({"a.py": "1"}, b"test")
    assert known not in {digest({"a.py": "2"}, b"test"), digest({"a.py": "1"}, b"")}
