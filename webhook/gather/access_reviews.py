"""Ask the API server what a user may do, with SubjectAccessReviews.

The answer "allowed" also serves identical reviews for 2 seconds, so that a burst of requests costs
one review. No other answer is shared. Without an answer in time the webhook admits nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, TypeVar

import orjson

from shared.api.objects import GroupVersionKind, JsonObject
from shared.kube.client import KubeClient, KubeError, TooManyRequests, Unreachable
from shared.kube.discovery import Discovery, UnknownKind
from shared.process.clock import Clock
from webhook.admission_review import User
from webhook.rules.submission import CannotGather

PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
# Seconds for which the webhook caches that a served version lacks a Kind: a thousand components of
# such a Kind cost one request. A group that is not served costs a request each time.
NEGATIVE_SECONDS: Final = 30.0
AT_ONCE: Final = 8  # reviews of one request
SECONDS_EACH: Final = 2.0
SECONDS_IN_ALL: Final = 4.0  # with discovery, and with the waits that the API server requests
# Seconds from the send of a review in which its answer "allowed" serves identical reviews. A
# withdrawn right works for so long at most.
SHARED_SECONDS: Final = 2.0
# Reviews that are remembered. Users can send any number of distinct ones: the oldest go.
MOST_SHARED: Final = 1000
_UNNAMED_WAIT: Final = 1.0  # if a 429 has no Retry-After
_SHORTEST_WAIT: Final = 0.1

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Access:
    """The access to review, as in a review's spec.resourceAttributes; "*" means every value.

    An empty namespace means the whole cluster.
    """

    verb: str
    group: str
    version: str
    resource: str
    namespace: str = ""

    def denied_to(self, user: str, reason: str) -> str:
        """Return the refusal in the API server's own phrasing."""
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        text = (
            f'User "{user}" cannot {self.verb} resource "{self.resource}" '
            f'in API group "{self.group}" {where}'
        )
        return f"{text}: {reason}" if reason else text


_EVERYTHING: Final = Access("*", "*", "*", "*")


@dataclass(slots=True)
class _SentReview:
    """A review that was sent, for identical ones. `allowed` is False until `answered` is set."""

    sent: float
    allowed: bool = False
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class AccessReviews:
    """Review users' rights. Every method raises CannotGather without a clear answer in 4 s."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._discovery = Discovery(client, clock, negative_seconds=NEGATIVE_SECONDS)
        # By digest, the oldest first: those under way, and those that were allowed.
        self._sent: dict[bytes, _SentReview] = {}

    async def is_admin(self, user: User) -> bool:
        """True if the user may do everything everywhere."""
        async with self._in_time() as deadline:
            denied = await self._refusals(user, [_EVERYTHING], deadline)
            return denied[_EVERYTHING] is None

    async def denied_creations(
        self, user: User, namespace: str, kinds: Iterable[GroupVersionKind]
    ) -> dict[GroupVersionKind, str]:
        """Return the `kinds` that the user may not create in `namespace`, each with the reason."""
        asked = list(kinds)
        async with self._in_time() as deadline:
            accesses = await _all_of(self._creation(kind, namespace) for kind in asked)
            # One review per distinct resource, not per component.
            refusals = await self._refusals(user, list(dict.fromkeys(accesses)), deadline)
            return {
                kind: refusal
                for kind, access in zip(asked, accesses, strict=True)
                if (refusal := refusals[access]) is not None
            }

    async def _creation(self, kind: GroupVersionKind, namespace: str) -> Access:
        """Return the access that the creation of one object needs.

        If the API server does not serve the Kind, require the right to create every resource of its
        group. For a cluster-scoped Kind, require the right in the whole cluster.
        """
        try:
            resource = await self._discovery.resource_for(kind)
        except UnknownKind:
            return Access("create", kind.group, kind.version, "*", namespace)
        except KubeError as error:
            raise CannotGather(
                f"the resource of {kind.api_version} {kind.kind} could not be looked up: {error}"
            ) from error
        within = namespace if resource.namespaced else ""
        return Access("create", resource.group, resource.version, resource.plural, within)

    async def _refusals(
        self, user: User, accesses: Sequence[Access], deadline: float
    ) -> dict[Access, str | None]:
        """Return for each access why it is refused, None if it is allowed."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def refusal(access: Access) -> str | None:
            async with slots:
                return await self._refusal(user, access, deadline)

        return dict(zip(accesses, await _all_of(map(refusal, accesses)), strict=True))

    async def _refusal(self, user: User, access: Access, deadline: float) -> str | None:
        asked = f'whether user "{user.name}" may {access.verb} {access.resource}'
        try:
            status = await self._review(user, access, deadline)
        except TimeoutError as error:
            raise CannotGather(f"{asked}: no answer within {SECONDS_EACH:g} s") from error
        except KubeError as error:
            raise CannotGather(f"{asked}: {error}") from error
        if status.get("allowed") is True:
            return None
        # An error instead of an answer is no refusal, neither for the API server itself.
        if problem := status.get("evaluationError"):
            raise CannotGather(f"{asked}: {problem}")
        if status.get("allowed") is not False:
            raise CannotGather(f"{asked}: the answer is neither yes nor no")
        return access.denied_to(user.name, str(status.get("reason") or ""))

    async def _review(self, user: User, access: Access, deadline: float) -> JsonObject:
        """Return the status of a review. Raise KubeError, or TimeoutError after 2 seconds."""
        body = _body(user, access)
        digest = sha256(orjson.dumps(body)).digest()  # of all that the API server gets
        if await self._is_allowed_already(digest):
            return {"allowed": True}
        broken = False
        while True:
            try:
                return await self._send(digest, body)
            except TooManyRequests as error:
                asked = _UNNAMED_WAIT if error.retry_after is None else error.retry_after
                delay = max(asked, _SHORTEST_WAIT)
                if self._clock.monotonic() + delay >= deadline:
                    raise
                await self._clock.sleep(delay)
            except Unreachable:
                # Retry once: the server may have closed an idle connection.
                if broken:
                    raise
                broken = True

    async def _is_allowed_already(self, digest: bytes) -> bool:
        """True if an identical review was sent within the last 2 seconds and is allowed.

        Wait for its answer, for 2 seconds at most. Without that answer, the caller sends its own
        review: the request that sent the other one may have ended, or its connection was broken.
        """
        other = self._sent.get(digest)
        if other is None:
            return False
        await other.answered.wait()
        return other.allowed and self._clock.monotonic() - other.sent < SHARED_SECONDS

    async def _send(self, digest: bytes, body: JsonObject) -> JsonObject:
        """Send a review, return its status, and keep the answer if it is "allowed"."""
        review = _SentReview(self._clock.monotonic())
        self._forget_sent(digest, review.sent)
        self._sent[digest] = review
        try:
            async with self._clock.timeout(SECONDS_EACH):
                answer = await self._client.post(PATH, body, retry=False)
            status = answer.get("status")
            status = status if isinstance(status, dict) else {}
            review.allowed = status.get("allowed") is True
            return status
        finally:
            review.answered.set()
            if not review.allowed and self._sent.get(digest) is review:
                del self._sent[digest]

    def _forget_sent(self, digest: bytes, now: float) -> None:
        """Forget the review of this digest, old reviews, and the oldest if there are too many."""
        self._sent.pop(digest, None)
        while self._sent:
            oldest = next(iter(self._sent))
            is_old = now - self._sent[oldest].sent >= SHARED_SECONDS
            if not is_old and len(self._sent) < MOST_SHARED:
                break
            del self._sent[oldest]

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[float]:
        """Limit the block to 4 seconds, and yield their end."""
        try:
            async with self._clock.timeout(SECONDS_IN_ALL):
                yield self._clock.monotonic() + SECONDS_IN_ALL
        except TimeoutError as error:
            raise CannotGather(
                "the API server did not report what the user may do: "
                f"no answer within {SECONDS_IN_ALL:g} s"
            ) from error


def _body(user: User, access: Access) -> JsonObject:
    attributes = {
        "verb": access.verb,
        "group": access.group,
        "version": access.version,
        "resource": access.resource,
        "namespace": access.namespace,
    }
    spec: JsonObject = {"resourceAttributes": attributes, "user": user.name}
    if user.uid:
        spec["uid"] = user.uid
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": spec,
    }


async def _all_of(works: Iterable[Coroutine[Any, Any, _Found]]) -> list[_Found]:
    """Return the results in order. Raise the first failure and cancel the rest."""
    all_works = list(works)
    if len(all_works) == 1:
        return [await all_works[0]]  # the usual case, without a task
    waiting = [asyncio.ensure_future(work) for work in all_works]
    try:
        return await asyncio.gather(*waiting)
    finally:
        for task in waiting:
            task.cancel()
