from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import orjson
import pytest

from shared.config.configuration import AppWrapperConfig
from tests.builders.admission import appwrapper, component, review
from tests.builders.known_facts import KnownFacts
from tests.builders.pod_schema import POD_SCHEMA
from webhook.admission_review import LARGEST_BODY, AdmissionRequest
from webhook.app import Judging, create_app
from webhook.facts import Facts
from webhook.judge import Judge
from webhook.verdicts import Verdict

FACTS = Facts(AppWrapperConfig(default_queue_name="default-queue"), pod_schema=POD_SCHEMA)


def client(
    *,
    readiness: Callable[[], str | None] = lambda: None,
    **judges: Judging,
) -> httpx.AsyncClient:
    judge = Judge(KnownFacts(FACTS))
    app = create_app(
        judges.get("mutate", judge.mutate), judges.get("validate", judge.validate), readiness
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://webhook")


async def post(path: str, body: Any) -> Any:
    async with client() as http:
        response = await http.post(path, content=orjson.dumps(body))
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    return response.json()["response"]


async def test_mutate_answers_with_a_patch() -> None:
    response = await post("/mutate", review(appwrapper()))
    assert response.pop("uid") == "7"
    [operation] = orjson.loads(b64decode(response.pop("patch")))
    assert operation["path"] == "/metadata/labels"
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
    [record] = [found for found in caplog.records if found.name == "webhook.app"]
    assert record.levelname == "ERROR"
    assert record.__dict__["uid"] == "7"
    assert record.exc_info is not None


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
    assert (response.status_code, response.text) == (
        413,
        "the body is larger than 7340032 bytes\n",
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


async def test_other_methods_and_paths_do_not_exist() -> None:
    async with client() as http:
        assert (await http.get("/mutate")).status_code == 405
        assert (await http.post("/other")).status_code == 404
        assert (await http.get("/openapi.json")).status_code == 404
