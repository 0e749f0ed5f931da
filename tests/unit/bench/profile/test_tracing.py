"""What the wrapper records; the whole program runs only in a profile."""

import sys
from collections.abc import Iterator

import orjson

from bench.profile.tracing import cause_of, detail_of
from shared.api.conditions import is_true
from shared.api.objects import JsonObject
from shared.kube.requests import Request


def test_the_cause_is_the_innermost_function_of_the_product() -> None:
    found: list[tuple[str, str]] = []

    class Conditions(list[JsonObject]):
        def __iter__(self) -> Iterator[JsonObject]:
            found.append(cause_of(sys._getframe()))
            return iter(())

    is_true(Conditions(), "Ready")
    assert found == [("condition", "")]
    assert cause_of(sys._getframe()) == ("the program", "")


def test_the_content_of_a_write() -> None:
    status = {"phase": "Running", "conditions": [{"type": "A", "status": "True", "reason": "r"}]}
    body = orjson.dumps({"reason": "Resuming", "status": status})
    assert detail_of(
        Request("PUT", "/x/appwrappers/a/status?fieldValidation=Strict", {}, body)
    ) == {
        "phase": "Running",
        "conditions": {"A": "True/r"},
    }
    assert detail_of(Request("POST", "/api/v1/namespaces/n/events", {}, body)) == {
        "reason": "Resuming"
    }
    assert detail_of(Request("POST", "/api/v1/namespaces/n/pods", {}, body)) == {}
    assert detail_of(Request("DELETE", "/x/appwrappers/a/status", {}, body)) == {}
    assert detail_of(Request("GET", "/x/appwrappers/a/status", {})) == {}
