"""Serve HTTP: POST /mutate and /validate, GET /healthz and /readyz.

Bodies are read raw and decoded once. Every review gets an answer under its UID: a bug in a rule
gives an errored answer and a log line, never a hang and never an admission. Metrics count all.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.requests import ClientDisconnect

from webhook.admission_review import (
    LARGEST_BODY,
    AdmissionRequest,
    NotAnAdmissionReview,
    UnusableRequest,
    answer,
    parse_review,
)
from webhook.metrics import PathMetrics, WebhookMetrics
from webhook.review_log import log_bug, log_line, log_verdict
from webhook.serving.bodies import LONGEST_UPLOAD, BodyLimits, BodyTooLarge, Upload, UploadEvicted
from webhook.verdicts import Denied, Errored, ErrorReason, Verdict

MUTATE: Final = "/mutate"
VALIDATE: Final = "/validate"

_JSON: Final = "application/json"
# A connection cannot be used again if its request was not read to the end or its answer failed.
_LAST: Final = {"connection": "close"}
# The API server retries after so many seconds, until its own timeout.
_AGAIN: Final = {**_LAST, "retry-after": "1"}

Judging = Callable[[AdmissionRequest], Awaitable[Verdict]]
# Returns why this replica cannot serve, None if it can.
Readiness = Callable[[], str | None]


def create_app(
    mutate: Judging,
    validate: Judging,
    readiness: Readiness,
    metrics: WebhookMetrics,
    warning: Readiness = lambda: None,
) -> FastAPI:
    """Build the application. Every GET /readyz calls `readiness` and `warning`.

    /readyz shows a warning, but a warning makes no replica unready.
    """
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        # The search for a tracer, which is never configured, takes 6 µs of each request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    # Plain routes: a path operation of FastAPI takes 34 µs more, a sixth of a small review.
    limits = BodyLimits()
    app.add_route(MUTATE, ReviewPath(mutate, metrics[MUTATE], limits).answered, ["POST"])
    app.add_route(VALIDATE, ReviewPath(validate, metrics[VALIDATE], limits).answered, ["POST"])

    @app.get("/healthz")
    async def _healthz() -> Response:
        return PlainTextResponse("ok\n")

    @app.get("/readyz")
    async def _readyz() -> Response:
        problem = readiness()
        if problem is not None:
            return PlainTextResponse(f"{problem}\n", 503)
        remark = warning()
        return PlainTextResponse("ok\n" if remark is None else f"ok\nwarning: {remark}\n")

    @app.exception_handler(Exception)
    async def _failed(_request: Request, _error: Exception) -> Response:
        # Starlette raises the error again: the server logs it, and closes the connection.
        return PlainTextResponse("Internal Server Error", 500, _LAST)

    return app


class ReviewPath:
    """Answer the reviews of one path, with metrics and log lines."""

    def __init__(self, judge: Judging, metrics: PathMetrics, limits: BodyLimits) -> None:
        self._judge = judge
        self._metrics = metrics
        self._limits = limits

    async def answered(self, request: Request) -> Response:
        code = 500  # the answer if even this code fails
        began = self._metrics.began()
        try:
            with self._limits.budget.upload() as upload:
                response = await self._answered(request, upload)
            code = response.status_code
            return response
        finally:
            self._metrics.ended(began, code)

    async def _answered(self, request: Request, upload: Upload) -> Response:
        try:
            body = await upload.read(request, LARGEST_BODY)
            async with self._limits.queue(body).turn(len(body)):
                return await self._read(body)
        except UploadEvicted as error:
            return _no_review(503, str(error), _AGAIN)
        except BodyTooLarge as error:
            return _no_review(413, str(error), _LAST)
        except TimeoutError:
            return _no_review(408, f"the body did not come within {LONGEST_UPLOAD:g} s", _LAST)
        except ClientDisconnect:
            # Only the log receives this text: the client is gone.
            return _no_review(400, "the client left before its request was complete")

    async def _read(self, body: bytes) -> Response:
        try:
            review = parse_review(body)
        except NotAnAdmissionReview as error:
            return _no_review(400, str(error))
        except UnusableRequest as error:
            verdict = Errored(400, str(error), ErrorReason.UNUSABLE_REQUEST)
            self._metrics.errored(verdict.reason)
            log_line(logging.WARNING, f"errored: {error}", {"uid": error.uid})
            return Response(answer(error.uid, verdict), media_type=_JSON)
        return Response(await self.judged(review), media_type=_JSON)

    async def judged(self, review: AdmissionRequest) -> bytes:
        """Return the answer to a review, also if a rule fails."""
        try:
            verdict = await self._judge(review)
            body = answer(review.uid, verdict)
            log_verdict(review, verdict)
        except Exception as error:  # noqa: BLE001  a bug must be answered, and must not admit
            text = f"the AppWrapper webhook failed; its log has the reason under uid {review.uid}"
            verdict = Errored(500, text)
            body = answer(review.uid, verdict)
            log_bug(review, error)
        if isinstance(verdict, Denied):
            self._metrics.denied(verdict.rules)
        elif isinstance(verdict, Errored):
            self._metrics.errored(verdict.reason)
        return body


def _no_review(code: int, text: str, headers: dict[str, str] | None = None) -> Response:
    log_line(logging.WARNING, f"answered with {code}: {text}", {})
    return PlainTextResponse(f"{text}\n", code, headers)
