from dataclasses import replace
from typing import Any

import orjson

from tests.support.builders.admission import (
    appwrapper,
    component,
    errors_of,
    facts,
    request,
    warnings_of,
)
from webhook import chain
from webhook.verdicts import Allowed, Denied, Verdict

LARGE = 256 << 10
MOST = 1 << 20
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


def test_at_the_limit_it_gets_in_and_one_byte_above_it_does_not() -> None:
    assert errors_of(of_size(MOST)) == []
    assert errors_of(of_size(MOST + 1)) == [error(MOST + 1, MOST)]


def test_the_limit_is_the_configured_one() -> None:
    assert errors_of(of_size(5000), max_object_size=5000) == []
    assert errors_of(of_size(5001), max_object_size=5000) == [error(5001, 5000)]


def test_above_256_kib_there_is_a_warning() -> None:
    assert warnings_of(of_size(LARGE)) == []
    assert warnings_of(of_size(LARGE + 1)) == [
        "the AppWrapper is large: 256 KiB, of which spec.components[1].template has 255; every "
        "change of its status writes and sends all of it: keep data in an image or a volume"
    ]


def test_the_error_takes_the_place_of_the_warning() -> None:
    assert warnings_of(of_size(MOST + 1)) == []


def validated(made: dict[str, Any], review_size: int, **config: Any) -> Verdict:
    judged = replace(request(made), review_size=review_size)
    return chain.validate(judged, facts(**config))


def test_a_small_review_cannot_hold_a_large_object_so_it_is_not_measured() -> None:
    """What is larger than its review is a lie; that it goes unnoticed shows that none is looked."""
    assert isinstance(validated(of_size(MOST + 1), LARGE), Allowed)
    assert isinstance(validated(of_size(MOST + 1), LARGE + 1), Denied)
    assert isinstance(validated(of_size(5001), 5000, max_object_size=5000), Allowed)
    assert isinstance(validated(of_size(5001), 5001, max_object_size=5000), Denied)
