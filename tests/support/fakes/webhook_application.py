"""The webhook's application on its own, and an HTTP client to it."""

from collections.abc import Callable
from typing import Any

import httpx
import orjson
from fastapi import FastAPI

from shared.config.configuration import AppWrapperConfig
from tests.support.builders.known_facts import KnownFacts
from tests.support.builders.pod_schema import POD_SCHEMA
from webhook.app import MUTATE, VALIDATE, Judging, create_app
from webhook.judge import Judge
from webhook.metrics import WebhookMetrics
from webhook.rules.submission import CannotGather, Facts

FACTS = Facts(AppWrapperConfig(default_queue_name="default-queue"), pod_schema=POD_SCHEMA)


def application(
    *,
    readiness: Callable[[], str | None] = lambda: None,
    warning: Callable[[], str | None] = lambda: None,
    metrics: WebhookMetrics | None = None,
    facts: Facts | CannotGather = FACTS,
    **judges: Judging,
) -> FastAPI:
    """`judges`: a replacement for the method `mutate` or `validate`, by its name."""
    judge = Judge(KnownFacts(facts))
    return create_app(
        judges.get("mutate", judge.mutate),
        judges.get("validate", judge.validate),
        readiness,
        metrics or WebhookMetrics({MUTATE: (), VALIDATE: ()}),
        warning,
    )


def client(*, raises: bool = True, **parts: Any) -> httpx.AsyncClient:
    """Returns a client of `application(**parts)`. `raises`: the test gets the server's
    exceptions.
    """
    transport = httpx.ASGITransport(application(**parts), raise_app_exceptions=raises)
    return httpx.AsyncClient(transport=transport, base_url="http://webhook")


async def post(path: str, body: Any) -> Any:
    """Returns the `response` of the returned AdmissionReview. Any other answer fails the test."""
    async with client() as http:
        response = await http.post(path, content=orjson.dumps(body))
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    return response.json()["response"]
