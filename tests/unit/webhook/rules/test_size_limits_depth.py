from dataclasses import replace
from typing import Any

import pytest

from shared.api.findings import FieldError
from tests.support.builders.admission import appwrapper, component, facts, request
from webhook import chain
from webhook.admission_review import AdmissionRequest
from webhook.rules.size_limits import check_depth
from webhook.rules.submission import Submission
from webhook.verdicts import Denied

FACTS = facts(default_queue_name="default-queue")
CONFIG = FACTS.config


def nested(levels: int, leaf: Any = 1) -> Any:
    value = leaf
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def template(levels: int) -> dict[str, Any]:
    """An object of `levels` levels; in an AppWrapper it has 4 more around it."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": nested(levels - 1)}


def errors_of(made: AdmissionRequest) -> list[FieldError]:
    return list(check_depth(Submission(made, FACTS)))


def test_an_appwrapper_of_a_hundred_levels_is_checked() -> None:
    assert errors_of(request(appwrapper(component(template(96))))) == []


def test_a_deeper_one_is_refused_by_its_place() -> None:
    [found] = errors_of(request(appwrapper(component(), component(template(97)))))
    assert str(found) == (
        "spec.components[1].template: Invalid value: nested too deep: "
        "at most 100 levels of objects and arrays are allowed"
    )


def test_malformed_components_beside_it_are_skipped() -> None:
    made = appwrapper(component(template(97)))
    made["spec"]["components"] = [None, 7, "x", [], *made["spec"]["components"]]
    [found] = errors_of(request(made))
    assert found.path == "spec.components[4].template"


@pytest.mark.parametrize("levels", [101, 250, 5000])
def test_any_depth_is_measured(levels: int) -> None:
    [found] = errors_of(request({"status": nested(levels - 1)}))
    assert found.path == "spec"


def test_as_few_brackets_cannot_be_deep_so_nothing_is_walked() -> None:
    """That so many levels have a hundred brackets is a lie; it goes unnoticed."""
    deep = request(appwrapper(component(template(97))))
    assert errors_of(replace(deep, review_brackets=100)) == []
    assert len(errors_of(replace(deep, review_brackets=101))) == 1


def test_a_creation_is_refused_before_any_other_rule() -> None:
    deep = request(appwrapper(component(template(97)), component({})))
    verdict = chain.check_size_limits(deep, CONFIG)
    assert verdict is not None
    assert [cause["field"] for cause in verdict.status["details"]["causes"]] == [
        "spec.components[0].template"
    ]
    assert verdict.rules == ("depth",)


def test_an_update_of_an_object_stored_so_deep_is_checked() -> None:
    """It came while the webhook was away; the user who annotates it now did not nest it."""
    stored = appwrapper(component(template(240)))
    annotated = stored | {"metadata": stored["metadata"] | {"annotations": {"note": "x"}}}
    update = request(annotated, old=stored)
    assert chain.check_size_limits(update, CONFIG) is None
    for judge in (chain.mutate, chain.validate):
        assert not isinstance(judge(update, FACTS), Denied)
