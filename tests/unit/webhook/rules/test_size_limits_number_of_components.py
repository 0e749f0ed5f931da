"""Refused before any rule reads the components: the API server's own checks take long."""

from typing import Any

import pytest

from tests.support.builders.admission import POD, appwrapper, component, facts, request
from tests.support.builders.known_facts import KnownFacts
from webhook import chain
from webhook.judge import Judge
from webhook.rules.submission import CannotGather
from webhook.verdicts import Denied

SPLIT = "split it into several AppWrappers"


def of(components: int, **lists: int) -> dict[str, Any]:
    """So many components, of which the second has these lists."""
    made = [component() for _ in range(components)]
    made[1] |= {key: [{"path": "template"}] * count for key, count in lists.items()}
    return appwrapper(*made)


def refusal(made: dict[str, Any], old: dict[str, Any] | None = None) -> str | None:
    verdict = chain.check_size_limits(request(made, old=old), facts().config)
    if verdict is None:
        return None
    assert verdict.rules == ("number_of_components",)
    [cause] = verdict.status["details"]["causes"]
    return f"{cause['field']}: {cause['message']}"


def too_many(count: int) -> str:
    return f"spec.components: Too many: {count}: must have at most 100 items: {SPLIT}"


def test_a_hundred_components_are_checked_and_one_more_is_refused() -> None:
    assert refusal(of(100)) is None
    assert refusal(of(101)) == too_many(101)


@pytest.mark.parametrize("key", ["podSets", "podSetInfos"])
def test_so_are_lists_below_them_all_together(key: str) -> None:
    made = of(3, **{key: 60})
    made["spec"]["components"][2][key] = [{}] * 40
    assert refusal(made) is None
    made["spec"]["components"][2][key].append({})
    assert refusal(made) == (
        f"spec.components[1].{key}: Too many: 101: all components together may have at most 100: "
        f"{SPLIT}"
    )


def test_an_object_stored_with_more_components_can_be_changed_otherwise() -> None:
    stored = of(150, podSets=150)
    assert refusal(of(150, podSets=150), old=stored) is None
    assert refusal(of(151), old=stored) == too_many(151)
    assert refusal(of(101), old=of(100)) == too_many(101)
    assert refusal(of(2, podSets=151), old=stored) is not None


@pytest.mark.parametrize("components", [None, "x", {}, [None] * 100, [{"podSets": "x" * 200}]])
def test_a_field_that_is_no_list_is_not_counted(components: Any) -> None:
    made = appwrapper()
    made["spec"]["components"] = components
    assert refusal(made) is None


async def test_nothing_is_found_out_for_what_is_refused_first() -> None:
    judge = Judge(KnownFacts(CannotGather("nobody may be asked")))
    creation, update = request(of(101)), request(of(101), old=appwrapper())
    for judged in (judge.mutate, judge.validate):
        for each in (creation, update):
            assert isinstance(await judged(each), Denied)


async def test_an_object_that_is_being_deleted_is_never_refused() -> None:
    stored = of(2)
    stored["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z"
    judge = Judge(KnownFacts(facts()))
    for judged in (judge.mutate, judge.validate):
        assert not isinstance(await judged(request(of(101), old=stored)), Denied)


async def test_lists_of_other_objects_are_not_counted() -> None:
    pod = {**POD, "spec": {"components": [{}] * 101}}
    judge = Judge(KnownFacts(facts()))
    assert not isinstance(await judge.mutate(request(pod, group_kind="Pod")), Denied)
