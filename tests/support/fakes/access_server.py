"""An API server that answers access reviews and discovery by a test's script."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from shared.kube.client import KubeError, NotFound
from tests.support.fakes.fake_clock import FakeClock

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
NOT_SERVED = NotFound(404, "Unknown", "no such group")
SERVED = {
    "/api/v1": [("pods", "Pod", True), ("services", "Service", True), ("nodes", "Node", False)],
    "/apis/apps/v1": [("deployments", "Deployment", True), ("statefulsets", "StatefulSet", True)],
    "/apis/batch/v1": [("jobs", "Job", True)],
}


def allowed(*resources: str) -> Answer:
    """Allows these resources (plural, or "*"), denies all others."""

    async def answer(spec: dict[str, Any]) -> dict[str, Any]:
        return {"allowed": spec["resourceAttributes"]["resource"] in resources}

    return answer


def status(**fields: Any) -> Answer:
    """Answers every user the same."""

    async def answer(_spec: dict[str, Any]) -> dict[str, Any]:
        return fields

    return answer


class AccessServer:
    """`answers` are given in order, the last one repeatedly; an exception is raised.

    `specs` are those of the reviews, in the order of arrival; `most_at_once` of them were open at a
    time.
    """

    def __init__(self, *answers: Answer | KubeError) -> None:
        self._answers = list(answers)
        self.specs: list[dict[str, Any]] = []
        self.discovered: list[str] = []
        self.namespaces: dict[str, dict[str, str]] = {}
        self.discovery_error: KubeError | None = None
        self.most_at_once = 0
        self._open = 0

    async def post(self, path: str, body: dict[str, Any], *, retry: bool) -> dict[str, Any]:
        assert path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        assert body["apiVersion"] == "authorization.k8s.io/v1"
        assert body["kind"] == "SubjectAccessReview"
        assert not retry, "the client would wait for longer than there is time"
        self.specs.append(body["spec"])
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, KubeError):
            raise answer
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            return {**body, "status": await answer(body["spec"])}
        finally:
            self._open -= 1

    async def get_path(self, path: str) -> dict[str, Any]:
        self.discovered.append(path)
        if self.discovery_error is not None:
            raise self.discovery_error
        if path not in SERVED:
            raise NOT_SERVED
        return {
            "resources": [
                {"name": name, "kind": kind, "namespaced": namespaced}
                for name, kind, namespaced in SERVED[path]
            ]
        }

    async def get(
        self, resource: Any, namespace: str | None, name: str, *, metadata_only: bool
    ) -> dict[str, Any]:
        assert (resource.kind, namespace, metadata_only) == ("Namespace", None, True)
        if name not in self.namespaces:
            raise NotFound(404, "NotFound", f'namespaces "{name}" not found')
        return {"metadata": {"name": name, "labels": self.namespaces[name]}}


def after(clock: FakeClock, seconds: float, answer: Answer) -> Answer:
    """Delays an answer."""

    async def late(spec: dict[str, Any]) -> dict[str, Any]:
        await clock.sleep(seconds)
        return await answer(spec)

    return late


async def never(_spec: dict[str, Any]) -> dict[str, Any]:
    """Never answers."""
    await asyncio.Event().wait()
    return {}
