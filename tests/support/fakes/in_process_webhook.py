"""The webhook's application without a socket: raw bytes in, an HTTP answer out."""

import asyncio
from collections.abc import MutableMapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson

from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.app import MUTATE, VALIDATE, Judging, create_app
from webhook.judge import Judge
from webhook.metrics import WebhookMetrics
from webhook.rules.submission import Facts
from webhook.verdicts import Verdict


class GivenFacts:
    """A gatherer with the same facts for every request."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @property
    def config(self) -> AppWrapperConfig:
        return self.facts.config

    async def for_mutation(self, _request: AdmissionRequest) -> Facts:
        return self.facts

    async def for_validation(self, _request: AdmissionRequest) -> Facts:
        return self.facts

    async def for_direct_kind(self, _request: AdmissionRequest) -> Facts:
        return self.facts

    async def with_live_priority_classes(self, facts: Facts) -> Facts:
        return facts


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    @property
    def response(self) -> dict[str, Any]:
        """Returns the `response` of the AdmissionReview."""
        found: dict[str, Any] = orjson.loads(self.body)["response"]
        return found


class InProcessWebhook:
    """Answers one request after the other, in its own event loop."""

    def __init__(self, facts: Facts) -> None:
        self._gatherer = GivenFacts(facts)
        self._bugs: list[Exception] = []
        judge = Judge(self._gatherer)
        self._app = create_app(
            self._watched(judge.mutate),
            self._watched(judge.validate),
            lambda: None,
            WebhookMetrics({MUTATE: (), VALIDATE: ()}),
        )
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.close()

    def know(self, facts: Facts) -> None:
        """Uses these facts from now on."""
        self._gatherer.facts = facts

    def post(self, path: str, body: bytes) -> Answer:
        """Answers one request. Raises what a rule raised, although the client got an answer."""
        answer = self._loop.run_until_complete(self._answered(path, body))
        if self._bugs:
            raise self._bugs.pop()
        return answer

    def _watched(self, judging: Judging) -> Judging:
        async def watched(request: AdmissionRequest) -> Verdict:
            try:
                return await judging(request)
            except Exception as error:
                self._bugs.append(error)
                raise

        return watched

    async def _answered(self, path: str, body: bytes) -> Answer:
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "https",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"content-length", str(len(body)).encode())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
            "root_path": "",
        }
        await self._app(scope, receive, send)
        return Answer(sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:]))
