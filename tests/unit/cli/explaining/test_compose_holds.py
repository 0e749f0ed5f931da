"""The answers of `explain` about a hold."""

from cli.explaining.compose import explain
from cli.explaining.report import CommandHint, Situation
from tests.support.builders.explained import ending, waiting


def test_a_held_one_has_its_holder_and_the_command() -> None:
    found = explain(waiting.held_by_user())
    assert found.situation is Situation.HELD
    assert found.answer == (
        "train is held by alice: it is out of the queue, and nothing starts until a user releases"
        " it."
    )
    assert found.details == ()
    assert found.commands[0] == CommandHint("appwrapper release train -n team1", "let it run again")


def test_a_hold_without_the_command_has_no_holder() -> None:
    seen = waiting.held_by_user()
    del seen.appwrapper["metadata"]["annotations"]["workload.codeflare.dev.appwrapper/held-by"]
    assert explain(seen).answer.startswith("train is held: it is out of the queue")


def test_a_released_one_is_about_to_be_queued() -> None:
    seen = waiting.held_by_user()
    seen.appwrapper["metadata"]["annotations"] = {}
    found = explain(seen)
    assert found.situation is Situation.HELD
    assert found.answer == (
        "train was held and is released: the controller is about to queue it again."
    )


def test_its_pods_are_deleted_first() -> None:
    seen = ending.suspending()
    seen.appwrapper["metadata"]["annotations"] |= {
        "workload.codeflare.dev.appwrapper/hold": "true",
        "workload.codeflare.dev.appwrapper/held-by": "alice",
    }
    found = explain(seen)
    assert found.situation is Situation.DELETING
    assert found.answer.startswith("train is held by alice: its pods and other components are")
    assert found.answer.endswith(
        "then its quota is released, until: appwrapper release train -n team1."
    )
