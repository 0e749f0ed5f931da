"""The HTTP face: POST /mutate and /validate, GET /healthz and /readyz.

Bodies are read raw and decoded once. Every review is answered under its UID: a bug in a rule gives
an errored answer and a log line, never a hang and never an admission. Each is counted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, ParamSpec

from fastapi import FastAPI, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from shared.process.logs import object_fields, without_contents
from webhook.admission_review import (
    LARGEST_BODY,
    AdmissionRequest,
    NotAnAdmissionReview,
    UnusableRequest,
    answer,
    parse_review,
)
from webhook.metrics import PathMetrics, WebhookMetrics
from webhook.verdicts import Denied, Errored, ErrorReason, Verdict

_log: Final = logging.getLogger(__name__)

MUTATE: Final = "/mutate"
VALIDATE: Final = "/validate"

_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain; charset=utf-8"
_LONGEST_LOGGED: Final = 2000
# Seconds for a body. The API server gives up after as many; who is slower only holds a connection.
LONGEST_UPLOAD: Final = 10.0
# Answers to requests whose body was not read to its end: nothing can follow on their connection.
_UNREAD: Final = (408, 413)

_Told = ParamSpec("_Told")

Judging = Callable[[AdmissionRequest], Awaitable[Verdict]]
# Why this replica cannot serve; None when it can.
Readiness = Callable[[], str | None]


# Status, content type, body.
_Response = tuple[int, bytes, bytes]


class ClientLeft(Exception):
    """The connection ended in the middle of a body."""


class BodyTooLarge(Exception):
    """A body above the limit: reading stopped there."""


class ReviewPath:
    """One path that takes reviews: from a body to an answer, with its counting and its log.

    An ASGI application: requests and responses as objects would cost a tenth of a review's time.
    """

    def __init__(self, judge: Judging, metrics: PathMetrics) -> None:
        self._judge = judge
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers an HTTP request, whatever comes."""
        code = 500  # what the server answers where even this code fails
        began = self._metrics.began()
        try:
            code, media_type, body = await self._answered(scope, receive)
            headers = [(b"content-type", media_type), (b"content-length", b"%d" % len(body))]
            if code in _UNREAD:
                headers.append((b"connection", b"close"))
            await send({"type": "http.response.start", "status": code, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        finally:
            self._metrics.ended(began, code)

    async def _answered(self, scope: Scope, receive: Receive) -> _Response:
        try:
            async with asyncio.timeout(LONGEST_UPLOAD):
                body = await read_body(scope, receive)
            review = parse_review(body)
        except BodyTooLarge as error:
            return _no_review(413, str(error))
        except TimeoutError:
            return _no_review(408, f"the body did not come within {LONGEST_UPLOAD:g} s")
        except NotAnAdmissionReview as error:
            return _no_review(400, str(error))
        except ClientLeft as error:
            return _no_review(400, str(error))  # for the log: nobody is there to read it
        except UnusableRequest as error:
            verdict = Errored(400, str(error), ErrorReason.UNUSABLE_REQUEST)
            self._metrics.errored(verdict.reason)
            _tell(logging.WARNING, f"errored: {error}", {"uid": error.uid})
            return 200, _JSON, answer(error.uid, verdict)
        return 200, _JSON, await self.judged(review)

    async def judged(self, review: AdmissionRequest) -> bytes:
        """The answer to a review: whatever happens, there is one."""
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


class WebhookApp(FastAPI):
    """Reviews go past FastAPI's layers, which turn exceptions into answers: they have their own."""

    def __init__(self, reviews: Mapping[str, ReviewPath]) -> None:
        super().__init__(openapi_url=None, docs_url=None, redoc_url=None)
        self._reviews = reviews
        # For whoever uses another method.
        for path, review in reviews.items():
            self.router.routes.append(Route(path, review, methods=["POST"]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http" and scope["method"] == "POST":
            review = self._reviews.get(scope["path"])
            if review is not None:
                await review(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


def create_app(
    mutate: Judging,
    validate: Judging,
    readiness: Readiness,
    metrics: WebhookMetrics,
    warning: Readiness = lambda: None,
) -> FastAPI:
    """The application. `readiness` and `warning` are asked at every GET /readyz.

    A warning is shown there, but makes no replica unready.
    """
    judges = {MUTATE: mutate, VALIDATE: validate}
    app = WebhookApp({path: ReviewPath(judge, metrics[path]) for path, judge in judges.items()})

    @app.get("/healthz")
    async def _healthz() -> Response:
        return Response("ok\n", media_type="text/plain")

    @app.get("/readyz")
    async def _readyz() -> Response:
        problem = readiness()
        if problem is not None:
            return Response(f"{problem}\n", status_code=503, media_type="text/plain")
        remark = warning()
        text = "ok\n" if remark is None else f"ok\nwarning: {remark}\n"
        return Response(text, media_type="text/plain")

    return app


def _no_review(code: int, text: str) -> _Response:
    _tell(logging.WARNING, f"answered with {code}: {text}", {})
    return code, _TEXT, f"{text}\n".encode()


def _never_fails(tell: Callable[_Told, None]) -> Callable[_Told, None]:
    """No value that somebody submitted may cost an answer because it cannot be logged."""

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
    # Without its text: an error that an object caused may quote from that object.
    fields = _fields(review) | {"exception": without_contents(error)}
    _tell(logging.ERROR, f"{review.operation}: a rule failed", fields)


@_never_fails
def _tell(level: int, text: str, fields: dict[str, object]) -> None:
    _log.log(level, "%s", text[:_LONGEST_LOGGED], extra=fields)


def _fields(review: AdmissionRequest, reason: object = "") -> dict[str, object]:
    return object_fields(review.namespace, review.display_name, review.uid, reason=str(reason))


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """The whole body. Raises ClientLeft, and BodyTooLarge as soon as it exceeds the limit."""
    announced = b"0"
    for name, value in scope["headers"]:
        if name == b"content-length":
            announced = value
    if announced.isdigit() and int(announced) > LARGEST_BODY:
        raise BodyTooLarge(_too_large())
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft("the client left before its request was complete")
        chunk = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(chunk)
        if size > LARGEST_BODY:
            raise BodyTooLarge(_too_large())
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large() -> str:
    return f"the body is larger than {LARGEST_BODY} bytes"
