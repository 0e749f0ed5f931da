from dataclasses import replace
from typing import Any

import orjson

from tests.support.builders.admission import (
    appwrapper,
    component,
    facts,
    request,
    warnings_of,
)
from webhook import chain
from webhook.verdicts import Allowed

LARGE = 256 << 10
MOST = 1 << 20
ROOM = 64 << 10
DATA = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"x": ""}}


def of_size(size: int) -> dict[str, Any]:
    """An AppWrapper of so many bytes, nearly all of them in spec.components[1]."""
    made = appwrapper(component(), component({**DATA, "data": {"x": ""}}))
    missing = size - len(orjson.dumps(made))
    made["spec"]["components"][1]["template"]["data"]["x"] = "x" * missing
    assert len(orjson.dumps(made)) == size
    return made


def error(total: int, limit: int) -> str:
    rest = len(orjson.dumps(appwrapper(component()))) + len(",")
    return (
        f"spec.components[1].template: Too long: the AppWrapper has {total} bytes, of which this "
        f"component has {total - rest}; at most {limit} are allowed (maxObjectSize): "
        "keep data in an image or a volume"
    )


def refusal(
    made: dict[str, Any], *, old: dict[str, Any] | None = None, review_size: int = 0, **config: Any
) -> list[str]:
    judged = replace(request(made, old=old), review_size=review_size)
    verdict = chain.check_size_limits(judged, facts(**config).config)
    if verdict is None:
        return []
    assert verdict.rules == ("object_size",)
    causes = verdict.status["details"]["causes"]
    return [f"{cause['field']}: {cause['message']}" for cause in causes]


def test_at_the_limit_it_gets_in_and_one_byte_above_it_does_not() -> None:
    assert refusal(of_size(MOST)) == []
    assert refusal(of_size(MOST + 1)) == [error(MOST + 1, MOST)]


def test_the_limit_is_the_configured_one() -> None:
    assert refusal(of_size(5000), max_object_size=5000) == []
    assert refusal(of_size(5001), max_object_size=5000) == [error(5001, 5000)]


def test_an_update_may_change_what_was_stored_larger_but_not_enlarge_it_much() -> None:
    """Labels, annotations, and what the API server notes about fields."""
    stored = of_size(2 * MOST)
    assert refusal(of_size(2 * MOST + ROOM), old=stored) == []
    assert refusal(of_size(2 * MOST + ROOM + 1), old=stored) == [error(2 * MOST + ROOM + 1, MOST)]
    assert refusal(of_size(MOST), old=of_size(500)) == []
    assert refusal(of_size(MOST + 1), old=of_size(500)) == [error(MOST + 1, MOST)]


def test_without_components_the_whole_object_is_named() -> None:
    made = {**appwrapper(), "spec": {"components": "x" * 5000}}
    [message] = refusal(made, max_object_size=5000)
    assert message.startswith("spec: Too long: the AppWrapper has 5")


def test_above_256_kib_there_is_a_warning() -> None:
    assert warnings_of(of_size(LARGE)) == []
    assert warnings_of(of_size(LARGE + 1)) == [
        "the AppWrapper is large: 256 KiB, of which spec.components[1].template has 255; every "
        "change of its status writes and sends all of it: keep data in an image or a volume"
    ]


def test_a_small_review_cannot_hold_a_large_object_so_it_is_not_measured() -> None:
    """No object is larger than its review: the rule that ignores this one has not measured it."""
    assert refusal(of_size(MOST + 1), review_size=MOST) == []
    assert refusal(of_size(MOST + 1), review_size=MOST + 1) != []
    large = replace(request(of_size(LARGE + 1)), review_size=LARGE)
    assert chain.validate(large, facts()) == Allowed()
