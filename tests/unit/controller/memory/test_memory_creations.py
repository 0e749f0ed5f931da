from controller.memory.memory import Memory
from controller.phases.snapshot import CreateProblem

PROBLEM = CreateProblem(fatal=False, message="403")


def test_a_success_is_remembered_for_its_attempt_only() -> None:
    creations = Memory().creations
    creations.record_success("u1", 1, 0, "j1")
    assert creations.known("u1", 1).created == {0: "j1"}
    assert creations.known("u1", 2).created == {}
    assert creations.known("u2", 1).created == {}


def test_problems_are_counted_until_something_succeeds() -> None:
    creations = Memory().creations
    creations.record_problem("u1", 1, PROBLEM)
    creations.record_problem("u1", 1, PROBLEM)
    assert creations.known("u1", 1).problem is PROBLEM
    assert creations.known("u1", 1).failures == 2
    creations.record_success("u1", 1, 0, "j1")
    assert creations.known("u1", 1).problem is None
    assert creations.known("u1", 1).failures == 0


def test_another_attempt_forgets_the_earlier_one() -> None:
    memory = Memory()
    creations = memory.creations
    creations.record_success("u1", 1, 0, "j1")
    creations.record_problem("u1", 2, PROBLEM)
    assert 0 not in creations.known("u1", 1).created
    assert creations.known("u1", 1).problem is None
    assert creations.latest("u1") == 2
    memory.forget("u1", ("team1", "train"))
    assert creations.known("u1", 2).problem is None
    assert creations.latest("u1") == 0


def test_asking_changes_nothing() -> None:
    """AppWrappers are asked about after they are forgotten, too."""
    creations = Memory().creations
    creations.record_problem("u1", 1, PROBLEM)
    assert creations.known("u1", 2).failures == 0
    assert creations.known("u1", 1).problem is PROBLEM
    assert creations.known("u1", 1).failures == 1


def test_an_object_in_the_place_of_the_one_first_seen_is_no_component() -> None:
    creations = Memory().creations
    assert not creations.is_replaced("u1", 1, 0, "a")
    assert not creations.is_replaced("u1", 1, 1, "b")
    assert not creations.is_replaced("u1", 1, 0, "a")
    assert creations.is_replaced("u1", 1, 0, "c")
    assert creations.is_replaced("u1", 1, 0, "c")
    assert not creations.is_replaced("u1", 2, 0, "c")


def test_a_question_about_an_earlier_attempt_keeps_the_latest() -> None:
    """As if the status lost the number of the attempt, which then counts as 0."""
    creations = Memory().creations
    creations.record_success("u1", 2, 0, "a")
    creations.record_problem("u1", 2, PROBLEM)
    assert not creations.is_replaced("u1", 0, 0, "b")
    assert creations.latest("u1") == 2
    assert creations.is_replaced("u1", 2, 0, "b")
    assert creations.known("u1", 2).problem is PROBLEM
