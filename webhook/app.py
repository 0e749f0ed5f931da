"""Serve HTTP: POST /mutate and /validate, GET /healthz and /readyz.

Bodies are read raw and decoded once. Every review gets an answer under its UID: a bug in a rule
gives an errored answer and a log line, never a hang and never an admission. Metrics count all.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, ParamSpec, Protocol

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.requests import ClientDisconnect

from shared.config.configuration import AppWrapperConfig
from shared.process.logs import object_fields, without_contents
from webhook import chain
from webhook.admission_review import (
    LARGEST_BODY,
    AdmissionRequest,
    NotAnAdmissionReview,
    UnusableRequest,
    answer,
    parse_review,
)
from webhook.metrics import PathMetrics, WebhookMetrics
from webhook.rules.submission import CannotGather, Facts
from webhook.serving.bodies import LONGEST_UPLOAD, BodyTooLarge, GaveWay, Room, Upload
from webhook.verdicts import Allowed, Denied, Errored, ErrorReason, Verdict

_log: Final = logging.getLogger(__name__)

MUTATE: Final = "/mutate"
VALIDATE: Final = "/validate"

_JSON: Final = "application/json"
_LONGEST_LOGGED: Final = 2000
# A connection cannot be used again if its request was not read to the end or its answer failed.
_LAST: Final = {"connection": "close"}
# The API server retries after so many seconds, until its own timeout.
_AGAIN: Final = {**_LAST, "retry-after": "1"}

_Told = ParamSpec("_Told")

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
    # Routes with the plain request: FastAPI's parameters would take 27 µs of each review.
    room = Room()
    app.add_route(MUTATE, ReviewPath(mutate, metrics[MUTATE], room).answered, ["POST"])
    app.add_route(VALIDATE, ReviewPath(validate, metrics[VALIDATE], room).answered, ["POST"])

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

    def __init__(self, judge: Judging, metrics: PathMetrics, room: Room) -> None:
        self._judge = judge
        self._metrics = metrics
        self._room = room

    async def answered(self, request: Request) -> Response:
        """Return the answer to any request."""
        code = 500  # the answer if even this code fails
        began = self._metrics.began()
        try:
            with self._room.bodies.upload() as upload:
                response = await self._answered(request, upload)
            code = response.status_code
            return response
        finally:
            self._metrics.ended(began, code)

    async def _answered(self, request: Request, upload: Upload) -> Response:
        try:
            body = await upload.read(request, LARGEST_BODY)
            turns = self._room.turns(body)
            await turns.begin(len(body))
        except GaveWay as error:
            return _no_review(503, str(error), _AGAIN)
        except BodyTooLarge as error:
            return _no_review(413, str(error), _LAST)
        except TimeoutError:
            return _no_review(408, f"the body did not come within {LONGEST_UPLOAD:g} s", _LAST)
        except ClientDisconnect:
            # Only the log receives this text: the client is gone.
            return _no_review(400, "the client left before its request was complete")
        try:
            return await self._read(body)
        finally:
            turns.end(len(body))

    async def _read(self, body: bytes) -> Response:
        try:
            review = parse_review(body)
        except NotAnAdmissionReview as error:
            return _no_review(400, str(error))
        except UnusableRequest as error:
            verdict = Errored(400, str(error), ErrorReason.UNUSABLE_REQUEST)
            self._metrics.errored(verdict.reason)
            _tell(logging.WARNING, f"errored: {error}", {"uid": error.uid})
            return Response(answer(error.uid, verdict), media_type=_JSON)
        return Response(await self.judged(review), media_type=_JSON)

    async def judged(self, review: AdmissionRequest) -> bytes:
        """Return the answer to a review, also if a rule fails."""
        try:
            verdict = await self._judge(review)
            body = answer(review.uid, verdict)
            _tell_verdict(review, verdict)
        except Exception as error:  # noqa: BLE001  a bug must be answered, and must not admit
            text = f"the AppWrapper webhook failed; its log has the reason under uid {review.uid}"
            verdict = Errored(500, text)
            body = answer(review.uid, verdict)
            _tell_bug(review, error)
        if isinstance(verdict, Denied):
            self._metrics.denied(verdict.rules)
        elif isinstance(verdict, Errored):
            self._metrics.errored(verdict.reason)
        return body


def _no_review(code: int, text: str, headers: dict[str, str] | None = None) -> Response:
    _tell(logging.WARNING, f"answered with {code}: {text}", {})
    return PlainTextResponse(f"{text}\n", code, headers)


def _never_fails(tell: Callable[_Told, None]) -> Callable[_Told, None]:
    """Log a failure of `tell` instead of raising it: an unloggable value must not block answers."""

    def told(*args: _Told.args, **kwargs: _Told.kwargs) -> None:
        try:
            tell(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  as above
            _log.error("a log line failed: %s", type(error).__name__)

    return told


@_never_fails
def _tell_verdict(review: AdmissionRequest, verdict: Verdict) -> None:
    if isinstance(verdict, Denied):
        text = f"denied {review.operation}: {verdict.status.get('message')}"
        _tell(logging.INFO, text, _fields(review, verdict.status.get("reason")))
    elif isinstance(verdict, Errored):
        text = f"errored {review.operation}: {verdict.message}"
        _tell(logging.ERROR, text, _fields(review, verdict.reason))
    elif _log.isEnabledFor(logging.DEBUG):
        # Names only: an AppWrapper may hold Secrets.
        text = f"{review.operation} of {review.group_kind} by {review.user.name} may go on"
        _tell(logging.DEBUG, text, _fields(review, type(verdict).__name__))


@_never_fails
def _tell_bug(review: AdmissionRequest, error: Exception) -> None:
    # Without the error's text, which may quote from the object.
    fields = _fields(review) | {"exception": without_contents(error)}
    _tell(logging.ERROR, f"{review.operation}: a rule failed", fields)


@_never_fails
def _tell(level: int, text: str, fields: dict[str, object]) -> None:
    _log.log(level, "%s", text[:_LONGEST_LOGGED], extra=fields)


def _fields(review: AdmissionRequest, reason: object = "") -> dict[str, object]:
    return object_fields(review.namespace, review.display_name, review.uid, reason=str(reason))


# From a request to a verdict: gather the facts, then run the pure rules.


class FactsGatherer(Protocol):
    """Gather the facts that the rules need for one request. All methods raise CannotGather."""

    @property
    def config(self) -> AppWrapperConfig:
        """Return the operator's configuration, without any request."""
        ...

    async def for_mutation(self, request: AdmissionRequest) -> Facts:
        """Gather for `chain.mutate`."""
        ...

    async def for_validation(self, request: AdmissionRequest) -> Facts:
        """Gather for `chain.validate`."""
        ...

    async def for_direct_kind(self, request: AdmissionRequest) -> Facts:
        """Gather for `chain.mutate_direct_kind` and `chain.validate_direct_kind`."""
        ...


class Judge:
    """Answer requests. It keeps nothing of a request, so all replicas give the same answers."""

    def __init__(self, gatherer: FactsGatherer) -> None:
        self._gatherer = gatherer

    async def mutate(self, request: AdmissionRequest) -> Verdict:
        """Return the answer to /mutate."""
        if chain.is_judged(request):
            return chain.refused_first(request, self._gatherer.config) or await _decide(
                request, self._gatherer.for_mutation, chain.mutate
            )
        if chain.is_created_directly(request):
            return await _decide(request, self._gatherer.for_direct_kind, chain.mutate_direct_kind)
        return Allowed()

    async def validate(self, request: AdmissionRequest) -> Verdict:
        """Return the answer to /validate."""
        if chain.is_judged(request):
            return chain.refused_first(request, self._gatherer.config) or await _decide(
                request, self._gatherer.for_validation, chain.validate
            )
        if chain.is_created_directly(request):
            return await _decide(
                request, self._gatherer.for_direct_kind, chain.validate_direct_kind
            )
        return Allowed()


async def _decide(
    request: AdmissionRequest,
    gather: Callable[[AdmissionRequest], Awaitable[Facts]],
    decide: Callable[[AdmissionRequest, Facts], Verdict],
) -> Verdict:
    try:
        facts = await gather(request)
    except CannotGather as problem:
        return Errored(500, str(problem), ErrorReason.MISSING_FACTS)
    return decide(request, facts)
