"""The HTTP face: POST /mutate and /validate, GET /healthz and /readyz.

Bodies are read raw and decoded once. Every review is answered under its UID: a bug in a rule gives
an errored answer and a log line, never a hang and never an admission.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import FastAPI, Request, Response
from starlette.requests import ClientDisconnect

from shared.logs import object_fields
from webhook.admission_review import (
    LARGEST_BODY,
    AdmissionRequest,
    NotAnAdmissionReview,
    UnusableRequest,
    answer,
    parse_review,
)
from webhook.verdicts import Denied, Errored, Verdict

_log: Final = logging.getLogger(__name__)

_JSON: Final = "application/json"
_LONGEST_LOGGED: Final = 2000

Judging = Callable[[AdmissionRequest], Awaitable[Verdict]]
# Why this replica cannot serve; None when it can.
Readiness = Callable[[], str | None]


class BodyTooLarge(Exception):
    """A body above the limit: reading stopped there."""


def create_app(mutate: Judging, validate: Judging, readiness: Readiness) -> FastAPI:
    """The application. `readiness` is asked at every GET /readyz."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    async def _mutate(request: Request) -> Response:
        return await _review(request, mutate)

    async def _validate(request: Request) -> Response:
        return await _review(request, validate)

    # Plain routes: FastAPI's own would look for parameters to inject, in every request.
    app.add_route("/mutate", _mutate, methods=["POST"])
    app.add_route("/validate", _validate, methods=["POST"])

    @app.get("/healthz")
    async def _healthz() -> Response:
        return Response("ok\n", media_type="text/plain")

    @app.get("/readyz")
    async def _readyz() -> Response:
        problem = readiness()
        if problem is not None:
            return Response(f"{problem}\n", status_code=503, media_type="text/plain")
        return Response("ok\n", media_type="text/plain")

    return app


async def _review(request: Request, judge: Judging) -> Response:
    try:
        body = await read_body(request)
        review = parse_review(body)
    except BodyTooLarge as error:
        return Response(f"{error}\n", status_code=413, media_type="text/plain")
    except NotAnAdmissionReview as error:
        return Response(f"{error}\n", status_code=400, media_type="text/plain")
    except ClientDisconnect:
        return Response(status_code=400)  # nobody is there to read it
    except UnusableRequest as error:
        return Response(answer(error.uid, Errored(400, str(error))), media_type=_JSON)
    return Response(await judged(review, judge), media_type=_JSON)


async def judged(review: AdmissionRequest, judge: Judging) -> bytes:
    """The answer to a review: whatever happens, there is one."""
    try:
        verdict = await judge(review)
        body = answer(review.uid, verdict)
    except Exception:  # noqa: BLE001  a bug in any rule must be answered, and must not admit
        _log.exception(
            "a rule failed",
            extra=object_fields(review.namespace, review.display_name, review.uid),
        )
        text = f"the AppWrapper webhook failed; its log has the reason under uid {review.uid}"
        return answer(review.uid, Errored(500, text))
    if isinstance(verdict, Denied):
        fields = object_fields(
            review.namespace, review.display_name, review.uid, reason=verdict.status["reason"]
        )
        text = str(verdict.status["message"])[:_LONGEST_LOGGED]
        _log.info("denied %s: %s", review.operation, text, extra=fields)
    return body


async def read_body(request: Request) -> bytes:
    """The whole body. Raises BodyTooLarge as soon as it is known to exceed the limit."""
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > LARGEST_BODY:
        raise BodyTooLarge(_too_large())
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > LARGEST_BODY:
            raise BodyTooLarge(_too_large())
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large() -> str:
    return f"the body is larger than {LARGEST_BODY} bytes"
