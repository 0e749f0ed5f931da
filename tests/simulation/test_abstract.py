"""The pure machine carries out real decisions, and notices a broken promise."""

from dataclasses import replace

from tests.simulation.abstract import START, State, is_goal, steps_from
from tests.simulation.graph import Step


def following(state: State, *names: str) -> State:
    """Return the state after the named steps."""
    for name in names:
        state = step_of(state, name).to
    return state


def step_of(state: State, name: str) -> Step[State]:
    """Return the one step whose name begins so."""
    found = [each for each in steps_from(state) if each.name.startswith(name)]
    assert len(found) == 1, [each.name for each in steps_from(state)]
    return found[0]


PASS = "a pass reads"
WAITING = following(
    following(START, PASS, "the pass ends", "the wait is over"),
    *(PASS, "status: Suspended", "the pass ends"),
)
DEPLOYED = following(
    following(WAITING, "Kueue admits"),
    *(PASS, "the finalizer is added", "status: Resuming, attempt 1", "the Secret", "the Job"),
    *("the pass ends", PASS, "the pass ends"),
)
A_POD = "a pod of attempt 1 is"
CREATED = following(DEPLOYED, *[f"{A_POD} created"] * 2)
RUNNING = following(
    following(CREATED, *[f"{A_POD} Running"] * 2), PASS, "status: Running", "the pass ends"
)


def test_an_appwrapper_that_is_left_alone_succeeds() -> None:
    ended = following(RUNNING, *[f"{A_POD} Succeeded"] * 2)
    decided = following(ended, "the Job of attempt 1 reports its end", PASS)
    assert not is_goal(decided)
    assert is_goal(following(decided, "status: Succeeded", "the pass ends"))


def test_without_the_webhook_the_controller_adds_the_finalizer() -> None:
    with_it = following(START, "the webhook adds the finalizer")
    assert [each.name for each in steps_from(with_it)] == [
        each.name for each in steps_from(START) if each.name != "the webhook adds the finalizer"
    ]
    admitted = following(with_it, PASS, "the pass ends", "Kueue admits")
    step_of(following(admitted, PASS), "status: Resuming, attempt 1")


def test_one_that_waits_is_gone_after_one_call() -> None:
    looked = following(START, "the webhook adds the finalizer", PASS, "the pass ends")
    waits = following(looked, "the wait is over", PASS, "status: Suspended", "the pass ends")
    deleted = following(waits, "a user deletes the AppWrapper", PASS)
    assert following(deleted, "the finalizer is removed").gone


def test_one_that_is_admitted_at_once_starts_with_its_first_write() -> None:
    admitted = following(START, PASS, "the pass ends", "Kueue admits", PASS)
    started = following(admitted, "the finalizer is added", "status: Resuming, attempt 1")
    assert following(started, "the Secret", "the Job").made == DEPLOYED.made


def test_after_a_crash_it_waits_again() -> None:
    crashed = following(START, PASS, "the pass ends", "the wait is over", "the controller crashes")
    assert following(crashed, PASS, "the pass ends").status == START.status


def test_after_a_crash_between_two_creates_only_the_second_is_made() -> None:
    half = following(
        following(WAITING, "Kueue admits"),
        *(PASS, "the finalizer is added", "status: Resuming", "the Secret"),
        *("the controller crashes", PASS),
    )
    made = following(half, "the Job of attempt 1 is created")
    assert [(each.index, each.attempt) for each in made.made] == [(0, 1), (1, 1)]


def test_a_status_write_after_a_deletion_conflicts_and_a_new_pass_follows() -> None:
    deleted = following(
        following(WAITING, "Kueue admits"),
        *(PASS, "the finalizer is added", "a user deletes the AppWrapper"),
    )
    after = following(deleted, "status: Resuming")
    assert (after.status, after.plan, after.due) == (deleted.status, (), True)


def test_a_pod_of_another_attempt_is_noticed_when_a_component_is_created() -> None:
    resuming = following(
        following(WAITING, "Kueue admits"),
        *(PASS, "the finalizer is added", "status: Resuming"),
    )
    stray = replace(RUNNING.pods[0], attempt=0)
    step = step_of(replace(resuming, pods=(stray,)), "the Secret of attempt 1 is created")
    assert step.wrong == "two attempts exist at once"
