"""Read the log of one container, once or to its end. I/O only."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from cli.logs.choosing import LogPod, LogState, log_pod
from cli.logs.lines import LogLine, LogSplitter, ResumePoint, log_line
from cli.logs.ranks import PodRanks
from shared.api.objects import PODS
from shared.kube import requests
from shared.kube.client import ApiError, Forbidden, KubeClient, KubeError, NotFound, Unauthorized
from shared.kube.requests import Request
from shared.process.backoff import ExponentialBackoff
from shared.process.clock import Clock

# A kubelet that is not reached fails a request after 30 s or more by itself.
_ANSWERS_WITHIN: Final = 60.0
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """Reads logs of a namespace's pods. `tail`, `since_seconds`: as of the API, None for all.

    `note` receives each problem of a pod, for people.
    """

    client: KubeClient
    clock: Clock
    namespace: str
    note: Callable[[LogPod, str], None]
    tail: int | None = None
    since_seconds: int | None = None

    async def once(self, pod: LogPod) -> AsyncGenerator[LogLine, None]:
        """Yield the lines so far. A log that cannot be read is noted, and has none."""
        try:
            async for line in self._lines(self._request(pod), at_end=True):
                yield line
        except (Forbidden, Unauthorized):
            raise  # the same for every pod
        except KubeError as error:
            self.note(pod, why_unreadable(error))

    async def follow(self, pod: LogPod, *, from_start: bool) -> AsyncGenerator[LogLine, None]:
        """Yield the lines until the container has ended for good, over any number of streams.

        `from_start`: the pod began later than the command, so the whole log is new.
        """
        point, pauses = ResumePoint(), ExponentialBackoff[None](_FIRST_PAUSE, _LONGEST_PAUSE)
        noted = ""
        while True:
            request = self._request(pod, follow=True, point=point, from_start=from_start)
            try:
                async with aclosing(self._new_lines(request, point)) as lines:
                    async for line in lines:
                        pauses.forget(None)
                        yield line
                if await self._has_ended(pod):
                    break
            except (Forbidden, Unauthorized):
                raise
            except NotFound:
                return
            except KubeError as error:
                # One break alone needs no action of a person.
                if pauses.failures(None) and (why := why_unreadable(error)) != noted:
                    self.note(pod, f"{why}; the command tries again")
                    noted = why
            await self.clock.sleep(pauses.next_delay(None))
        # A stream that was cut also ends without an error, and the container may have ended since.
        async for line in self._last_lines(pod, point, from_start=from_start):
            yield line

    async def _last_lines(
        self, pod: LogPod, point: ResumePoint, *, from_start: bool
    ) -> AsyncGenerator[LogLine, None]:
        request = self._request(pod, point=point, from_start=from_start)
        try:
            async for line in self._new_lines(request, point, at_end=True):
                yield line
        except KubeError:  # deleted meanwhile: nothing more can be read
            return

    async def _new_lines(
        self, request: Request, point: ResumePoint, *, at_end: bool = False
    ) -> AsyncGenerator[LogLine, None]:
        point.reconnect()
        async with aclosing(self._lines(request, at_end=at_end)) as lines:
            async for line in lines:
                if point.is_new(line):
                    yield line

    async def _lines(self, request: Request, *, at_end: bool) -> AsyncGenerator[LogLine, None]:
        """`at_end`: the log's last line may have no line end; a cut stream reads it again."""
        splitter = LogSplitter()
        seconds = _ANSWERS_WITHIN if at_end else None
        async with aclosing(self.client.chunks(request, seconds=seconds)) as chunks:
            async for chunk in chunks:
                for raw in splitter.feed(chunk):
                    yield log_line(raw)
        if at_end and (raw := splitter.rest()):
            yield log_line(raw)

    def _request(
        self,
        pod: LogPod,
        *,
        follow: bool = False,
        point: ResumePoint | None = None,
        from_start: bool = False,
    ) -> Request:
        since = point.since if point else ""
        first = not since and not from_start
        return requests.pod_log(
            self.namespace,
            pod.name,
            pod.container,
            follow=follow,
            tail=self.tail if first else None,
            since=since,
            since_seconds=self.since_seconds if first else None,
        )

    async def _has_ended(self, pod: LogPod) -> bool:
        """True if the container has ended for good. Raises NotFound if the pod is gone."""
        item = await self.client.get(PODS, self.namespace, pod.name)
        found = log_pod(item, PodRanks({}, 0), pod.container)
        if found.uid != pod.uid:
            raise NotFound(404, "NotFound", f"another pod has the name {pod.name}")
        return found.is_over or found.state is LogState.WHOLE


def why_unreadable(error: KubeError) -> str:
    """Return the reason, for people: the kubelet's, or that the node does not answer."""
    if not isinstance(error, ApiError):
        return f"the API server does not answer ({error})"
    if error.status < 500:
        return error.message
    # The API server's message begins with the kubelet's URL, in quotes.
    return f"its node does not answer ({_after_url(error.message)})"


def _after_url(message: str) -> str:
    return message.rpartition('": ')[2]
