"""Find the REST resource of a Kind through the API server's discovery.

Positive answers are kept: a Kind's resource does not change while the server serves it. Negative
answers are kept for a few seconds. "There is no such group" is never kept: its CRD may be a second
old, and its user should not wait for this cache. Pass `since` before acting finally on a negative
answer: nothing may fail because of an old one.

All served versions of a Kind show the same objects. So objects that were created in a version that
is no longer served are found in another.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from shared.api.objects import GroupVersionKind, JsonObject, Resource
from shared.kube.client import KubeClient, NotFound, Unreachable
from shared.process.clock import Clock

# How many seconds the answer "the served version lacks this Kind" counts, by default.
NEGATIVE_SECONDS = 5.0
# A group or a version. Both come from users' templates and become part of a path.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


class UnknownKind(LookupError):
    """Raised if the API server does not serve this Kind (now), with what is missing."""

    def __init__(self, gvk: GroupVersionKind, detail: str) -> None:
        super().__init__(f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"{detail}')
        self.gvk = gvk


@dataclass(frozen=True, slots=True)
class _Answer:
    """The Kinds of one served version of a group, with their resources."""

    kinds: Mapping[str, Resource]
    read_at: float  # the clock's seconds
    number: int  # of the request, among all requests of this object


class Discovery:
    """Find resources, from memory if possible. One object per client; tasks may share it.

    The answer "that version has no such Kind" counts for `negative_seconds`.
    """

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        *,
        negative_seconds: float = NEGATIVE_SECONDS,
    ) -> None:
        self._client = client
        self._clock = clock
        self._negative_seconds = negative_seconds
        # By (group, version).
        self._answers: dict[tuple[str, str], _Answer] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._requests = 0  # requests begun so far

    def moment(self) -> int:
        """Return the number of requests so far, for `since`."""
        return self._requests

    async def resource_for(self, gvk: GroupVersionKind, *, since: int | None = None) -> Resource:
        """Return the resource of `gvk`. Raise UnknownKind, or KubeError if discovery itself fails.

        With `since`, a `moment`, ignore negative answers from before it: the caller cannot undo
        what it does with the answer. Several questions about one object share one moment.
        """
        if not gvk.kind or not all(map(_NAME.fullmatch, (gvk.group or "core", gvk.version))):
            raise UnknownKind(gvk, ": that is no kind of any API")
        key = (gvk.group, gvk.version)
        if resource := self._known(gvk):
            return resource
        # One request answers all callers that were waiting before it began. A caller with `since`
        # that arrives during a request waits for the next: the server may have answered before the
        # call.
        try:
            async with self._locks.setdefault(key, asyncio.Lock()):
                if resource := self._known(gvk):
                    return resource
                if not self._is_believed(key, since):
                    await self._read(gvk)
        finally:
            # Users can name any number of groups that the server does not serve, so drop their
            # locks.
            if key not in self._answers:
                self._locks.pop(key, None)
        if resource := self._known(gvk):
            return resource
        raise UnknownKind(gvk, "")

    async def in_any_version(self, gvk: GroupVersionKind, *, since: int | None = None) -> Resource:
        """Return the resource of a group and Kind, in the version of `gvk` if that is served.

        Otherwise in the version that the API server prefers, or in the next one. Raise as
        `resource_for` does. UnknownKind means that no version is served.
        """
        try:
            return await self.resource_for(gvk, since=since)
        except UnknownKind:
            for version in await self._versions(gvk.group):
                with suppress(UnknownKind):
                    return await self.resource_for(replace(gvk, version=version), since=since)
            raise

    def forget(self, gvk: GroupVersionKind) -> None:
        """Forget the version after a request to its resource met a 404 of the resource itself."""
        self._answers.pop((gvk.group, gvk.version), None)

    def _known(self, gvk: GroupVersionKind) -> Resource | None:
        answer = self._answers.get((gvk.group, gvk.version))
        return None if answer is None else answer.kinds.get(gvk.kind)

    def _is_believed(self, key: tuple[str, str], since: int | None) -> bool:
        """True if a negative answer is from after `since`, or, without `since`, young enough."""
        answer = self._answers.get(key)
        if answer is None:
            return False
        if since is not None:
            return answer.number > since
        return self._clock.monotonic() - answer.read_at < self._negative_seconds

    async def _versions(self, group: str) -> Sequence[str]:
        """Return the served versions of a group, the preferred one first."""
        if not group:
            return ("v1",)
        if not _NAME.fullmatch(group):
            return ()
        try:
            found = await self._client.get_path(f"/apis/{group}")
        except NotFound:
            return ()
        with _understood(f"/apis/{group}"):
            preferred = found["preferredVersion"]["version"]
            return sorted((each["version"] for each in found["versions"]), key=preferred.__ne__)

    async def _read(self, gvk: GroupVersionKind) -> None:
        key = (gvk.group, gvk.version)
        prefix = f"/apis/{gvk.group}" if gvk.group else "/api"
        self._requests += 1
        number = self._requests
        try:
            answer = await self._client.get_path(f"{prefix}/{gvk.version}")
        except NotFound as error:
            # This answer is never kept: the CRD may be installed soon.
            if self._is_news(key, number):
                self.forget(gvk)
            raise UnknownKind(gvk, "; is its CRD installed?") from error
        with _understood(f"{prefix}/{gvk.version}"):
            kinds = _by_kind(gvk, answer)
        if self._is_news(key, number):
            self._answers[key] = _Answer(kinds, self._clock.monotonic(), number)

    def _is_news(self, key: tuple[str, str], number: int) -> bool:
        """True if no later request has been answered yet."""
        known = self._answers.get(key)
        return known is None or known.number < number


@contextmanager
def _understood(path: str) -> Iterator[None]:
    """Raise Unreachable if an answer lacks a field: extension API servers may send anything."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise Unreachable(f"the answer about {path} is no API discovery: {error!r}") from error


def _by_kind(gvk: GroupVersionKind, answer: JsonObject) -> dict[str, Resource]:
    """Return the resources of an APIResourceList by Kind, without subresources.

    An entry may name another group or version for its objects (Scale, Eviction); all such entries
    are subresources.
    """
    return {
        entry["kind"]: Resource(
            gvk.group, gvk.version, entry["name"], entry["kind"], bool(entry["namespaced"])
        )
        for entry in answer.get("resources", [])
        if "/" not in entry["name"]
    }
