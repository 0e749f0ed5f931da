import json
import logging
from typing import Any

import orjson
import pytest

from shared.process.logs import JsonLines
from tests.support.builders.admission import appwrapper, component, review
from tests.support.fakes.webhook_application import application, client, post
from webhook.admission_review import AdmissionRequest
from webhook.app import MUTATE, VALIDATE
from webhook.metrics import WebhookMetrics
from webhook.rules.submission import CannotGather
from webhook.verdicts import Errored, Verdict


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, str]]:
    """The lines of the webhook's log, without the time."""
    lines = [json.loads(JsonLines().format(found)) for found in caplog.records]
    ours = [line for line in lines if line.pop("logger") == "webhook.review_log"]
    return [{key: text for key, text in line.items() if key != "ts"} for line in ours]


OBJECT = {"namespace": "team1", "name": "job", "uid": "7"}


async def test_a_refusal_is_logged_with_its_uid(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    wrong = appwrapper(component({"apiVersion": "v1", "kind": "Node"}))
    response = await post("/validate", review(wrong))
    assert lines(caplog) == [
        {
            "level": "info",
            "message": f"denied CREATE: {response['status']['message']}",
            "reason": "Invalid",
            **OBJECT,
        }
    ]


async def test_a_review_that_fails_is_logged_with_its_uid(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with client(facts=CannotGather("nobody answers")) as http:
        response = await http.post("/mutate", content=orjson.dumps(review(appwrapper())))
    assert response.json()["response"]["status"]["message"] == "nobody answers"
    assert lines(caplog) == [
        {
            "level": "error",
            "message": "errored CREATE: nobody answers",
            "reason": "missing_facts",
            **OBJECT,
        }
    ]


async def test_a_review_that_makes_no_sense_is_logged_with_its_uid(
    caplog: pytest.LogCaptureFixture,
) -> None:
    response = await post("/mutate", review(None))
    assert lines(caplog) == [
        {"level": "warning", "message": f"errored: {response['status']['message']}", "uid": "7"}
    ]


async def test_a_body_that_is_no_review_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with client() as http:
        response = await http.post("/mutate", content=b"[]")
    assert lines(caplog) == [
        {"level": "warning", "message": f"answered with 400: {response.text.strip()}"}
    ]


@pytest.mark.parametrize(("path", "verdict"), [("/mutate", "Patched"), ("/validate", "Allowed")])
async def test_every_review_is_logged_at_debug_and_only_there(
    path: str, verdict: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = component({"apiVersion": "v1", "kind": "Secret", "stringData": {"key": "password"}})
    body = review(appwrapper(component(), secret))
    caplog.set_level(logging.INFO)
    await post(path, body)
    assert lines(caplog) == []
    caplog.set_level(logging.DEBUG)
    await post(path, body)
    assert lines(caplog) == [
        {
            "level": "debug",
            "message": "CREATE of workload.codeflare.dev/AppWrapper by alice may go on",
            "reason": verdict,
            **OBJECT,
        }
    ]
    assert "password" not in caplog.text


class Unprintable(str):
    def __format__(self, _spec: str) -> str:
        raise RuntimeError("a secret")

    __str__ = __format__  # type: ignore[assignment]


async def test_a_value_that_cannot_be_logged_costs_no_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def errored(_request: AdmissionRequest) -> Verdict:
        return Errored(500, Unprintable("text"))

    async with client(validate=errored) as http:
        response = await http.post("/validate", content=orjson.dumps(review(appwrapper())))
    assert response.json()["response"]["status"]["message"] == "text"
    assert lines(caplog) == [
        {"level": "error", "message": "a log line failed: RuntimeError"},
    ]


async def test_a_long_refusal_is_logged_in_part(caplog: pytest.LogCaptureFixture) -> None:
    async def errored(_request: AdmissionRequest) -> Verdict:
        return Errored(500, "x" * 10_000)

    async with client(mutate=errored) as http:
        response = await http.post("/mutate", content=orjson.dumps(review(appwrapper())))
    assert response.json()["response"]["status"]["message"] == "x" * 10_000
    [line] = lines(caplog)
    assert len(line["message"]) == 2000


async def test_a_client_that_leaves_in_the_middle_is_logged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = WebhookMetrics({MUTATE: (), VALIDATE: ()})
    received: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    messages = iter(received)

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(_message: object) -> None:
        """Like the server once its client is gone."""

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mutate",
        "query_string": b"",
        "headers": [],
    }
    await application(metrics=metrics)(scope, receive, send)
    assert lines(caplog) == [
        {
            "level": "warning",
            "message": "answered with 400: the client left before its request was complete",
        }
    ]
    answered = ("controller_runtime_webhook_requests_total", {"code": "400", "webhook": "/mutate"})
    assert metrics.registry.get_sample_value(*answered) == 1
