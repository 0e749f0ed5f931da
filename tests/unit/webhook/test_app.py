import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator

import orjson
import pytest
from fastapi import FastAPI
from starlette.routing import Route

from shared.process.logs import JsonLines
from tests.support.builders.admission import appwrapper, component, review
from tests.support.fakes.fake_clock import settle
from tests.support.fakes.webhook_application import application, client, post
from webhook.admission_review import LARGEST_BODY, AdmissionRequest
from webhook.app import MUTATE, VALIDATE
from webhook.metrics import WebhookMetrics
from webhook.rules.submission import CannotGather
from webhook.verdicts import Verdict


def test_it_is_an_ordinary_fastapi_application() -> None:
    app = application()
    assert type(app) is FastAPI
    routes = [route for route in app.routes if isinstance(route, Route)]
    assert app.routes == routes
    assert [(route.path, route.methods) for route in routes] == [
        ("/mutate", {"POST"}),
        ("/validate", {"POST"}),
        ("/healthz", {"GET"}),
        ("/readyz", {"GET"}),
    ]


async def test_mutate_answers_with_a_patch() -> None:
    response = await post("/mutate", review(appwrapper()))
    assert response.pop("uid") == "7"
    operations = orjson.loads(b64decode(response.pop("patch")))
    assert "/metadata/labels" in [operation["path"] for operation in operations]
    assert response == {"allowed": True, "patchType": "JSONPatch"}


async def test_validate_allows() -> None:
    assert await post("/validate", review(appwrapper())) == {"uid": "7", "allowed": True}


async def test_validate_denies_with_a_status() -> None:
    node = component({"apiVersion": "v1", "kind": "Node"})
    response = await post("/validate", review(appwrapper(node)))
    assert (response["uid"], response["allowed"]) == ("7", False)
    assert (response["status"]["code"], response["status"]["reason"]) == (422, "Invalid")


async def test_an_unusable_request_is_errored_under_its_uid() -> None:
    assert await post("/validate", review(None)) == {
        "uid": "7",
        "allowed": False,
        "status": {
            "status": "Failure",
            "code": 400,
            "reason": "BadRequest",
            "message": "request.object is missing or empty",
        },
    }


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
async def test_a_bug_in_a_rule_is_answered_and_logged(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_request: AdmissionRequest) -> Verdict:
        raise KeyError("secret-looking-detail")

    async with client(mutate=broken, validate=broken) as http:
        response = await http.post(path, content=orjson.dumps(review(appwrapper())))
    assert response.status_code == 200
    assert response.json()["response"] == {
        "uid": "7",
        "allowed": False,
        "status": {
            "status": "Failure",
            "code": 500,
            "reason": "InternalError",
            "message": "the AppWrapper webhook failed; its log has the reason under uid 7",
        },
    }
    [record] = [found for found in caplog.records if found.name == "webhook.review_log"]
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["uid"], line["name"]) == ("error", "7", "job")
    assert line["message"] == "CREATE: a rule failed"
    # Where it failed, and nothing of what the error quotes.
    assert line["exception"].startswith("KeyError\n")
    assert "in broken" in line["exception"]
    assert "looking-detail" not in line["exception"].replace('"secret-looking-detail"', "")


def broken_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_body: bytes) -> AdmissionRequest:
        raise KeyError("secret-looking-detail")

    monkeypatch.setattr("webhook.app.parse_review", broken)


async def test_a_bug_outside_the_rules_gets_500_without_details(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken_parsing(monkeypatch)
    metrics = WebhookMetrics({MUTATE: (), VALIDATE: ()})
    async with client(raises=False, metrics=metrics) as http:
        response = await http.post("/validate", content=orjson.dumps(review(appwrapper())))
    assert (response.status_code, response.text) == (500, "Internal Server Error")
    assert (response.headers["content-type"], response.headers["connection"]) == (
        "text/plain; charset=utf-8",
        "close",
    )
    sample = metrics.registry.get_sample_value
    on_path = {"webhook": "/validate"}
    assert sample("controller_runtime_webhook_requests_total", {"code": "500", **on_path}) == 1
    assert sample("controller_runtime_webhook_requests_in_flight", on_path) == 0


async def test_a_bug_outside_the_rules_reaches_the_server_which_logs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken_parsing(monkeypatch)
    async with client() as http:
        with pytest.raises(KeyError):
            await http.post("/validate", content=orjson.dumps(review(appwrapper())))


async def test_a_body_that_is_no_review_gets_400() -> None:
    async with client() as http:
        response = await http.post("/mutate", content=b"{}")
    assert (response.status_code, response.text) == (
        400,
        "the body is not an AdmissionReview of admission.k8s.io/v1\n",
    )


async def test_a_body_of_exactly_the_limit_is_read() -> None:
    body = orjson.dumps(review(appwrapper()))
    async with client() as http:
        response = await http.post("/validate", content=body + b" " * (LARGEST_BODY - len(body)))
    assert response.json()["response"] == {"uid": "7", "allowed": True}


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_above_the_limit_gets_413(announced: bool) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(8):
            yield b" " * ((1 << 20) - 1)
        yield b" " * 9

    body = b" " * (LARGEST_BODY + 1) if announced else chunks()
    async with client() as http:
        response = await http.post("/mutate", content=body)
    assert (response.status_code, response.text, response.headers.get("connection")) == (
        413,
        "the body is larger than 7340032 bytes\n",
        "close",
    )


async def test_reading_stops_at_the_limit() -> None:
    read: list[int] = []

    async def chunks() -> AsyncIterator[bytes]:
        for number in range(100):
            read.append(number)
            yield b" " * (1 << 20)

    async with client() as http:
        assert (await http.post("/mutate", content=chunks())).status_code == 413
    assert len(read) == (LARGEST_BODY >> 20) + 1


async def test_a_body_that_is_announced_as_too_large_is_not_read() -> None:
    read: list[bytes] = []

    async def chunks() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    announced = {"content-length": str(LARGEST_BODY + 1)}
    async with client() as http:
        response = await http.post("/mutate", content=chunks(), headers=announced)
    assert (response.status_code, read) == (413, [])


async def test_a_body_that_does_not_come_gets_408(monkeypatch: pytest.MonkeyPatch) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    for module in ("app", "serving.bodies"):
        monkeypatch.setattr(f"webhook.{module}.LONGEST_UPLOAD", 0.0)
    async with client() as http:
        response = await http.post("/mutate", content=chunks())
    assert (response.status_code, response.text, response.headers.get("connection")) == (
        408,
        "the body did not come within 0 s\n",
        "close",
    )


async def test_probes() -> None:
    problem: list[str | None] = [None]
    async with client(readiness=lambda: problem[0]) as http:
        assert (await http.get("/healthz")).text == "ok\n"
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.text) == (200, "ok\n")
        problem[0] = "the certificate expired"
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.text) == (503, "the certificate expired\n")
        assert (await http.get("/healthz")).status_code == 200


async def test_a_warning_is_shown_by_a_replica_that_is_ready() -> None:
    warning = "the Secret does not exist"
    async with client(warning=lambda: warning) as http:
        ready = await http.get("/readyz")
    assert (ready.status_code, ready.text) == (200, f"ok\nwarning: {warning}\n")


async def test_other_methods_and_paths_do_not_exist() -> None:
    async with client() as http:
        assert (await http.get("/mutate")).status_code == 405
        assert (await http.post("/other")).status_code == 404
        assert (await http.get("/openapi.json")).status_code == 404


async def test_reviews_are_counted_by_what_became_of_them() -> None:
    async def broken(_request: AdmissionRequest) -> Verdict:
        raise KeyError

    metrics = WebhookMetrics({MUTATE: (), VALIDATE: ("allowed_kinds",)})
    wrong = appwrapper(component({"apiVersion": "v1", "kind": "Node"}))
    async with client(metrics=metrics) as http:
        for body in (review(appwrapper()), review(wrong), review(None), {}):
            await http.post("/validate", content=orjson.dumps(body))
    async with client(metrics=metrics, mutate=broken) as http:
        await http.post("/mutate", content=orjson.dumps(review(appwrapper())))
    async with client(metrics=metrics, facts=CannotGather("away")) as http:
        await http.post("/mutate", content=orjson.dumps(review(appwrapper())))
    counted = {
        (sample.name, *(sample.labels[key] for key in sorted(sample.labels))): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if "_bucket" not in sample.name and "_created" not in sample.name
        if "webhook" in sample.name and sample.value and "_sum" not in sample.name
    }
    assert counted == {
        ("controller_runtime_webhook_requests_total", "200", "/validate"): 3,
        ("controller_runtime_webhook_requests_total", "400", "/validate"): 1,
        ("controller_runtime_webhook_requests_total", "200", "/mutate"): 2,
        ("controller_runtime_webhook_latency_seconds_count", "/validate"): 4,
        ("controller_runtime_webhook_latency_seconds_count", "/mutate"): 2,
        ("appwrapper_webhook_denials_total", "allowed_kinds", "/validate"): 1,
        ("appwrapper_webhook_errors_total", "unusable_request", "/validate"): 1,
        ("appwrapper_webhook_errors_total", "bug", "/mutate"): 1,
        ("appwrapper_webhook_errors_total", "missing_facts", "/mutate"): 1,
    }


async def test_a_request_that_the_server_cuts_off_is_no_longer_in_flight() -> None:
    async def endless(_request: AdmissionRequest) -> Verdict:
        await asyncio.Event().wait()
        raise AssertionError

    metrics = WebhookMetrics({MUTATE: (), VALIDATE: ()})
    async with client(metrics=metrics, mutate=endless) as http:
        body = orjson.dumps(review(appwrapper()))
        asking = asyncio.create_task(http.post("/mutate", content=body))
        await settle()
        in_flight = ("controller_runtime_webhook_requests_in_flight", {"webhook": "/mutate"})
        assert metrics.registry.get_sample_value(*in_flight) == 1
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    assert metrics.registry.get_sample_value(*in_flight) == 0
