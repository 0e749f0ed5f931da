"""Which REST resource serves a Kind, as the API server's discovery says it.

Positive answers are kept: a Kind's resource does not change while it is served. Negative ones are
kept for moments only, and never "there is no such group": a CRD may be a second old, and its user
should not have to wait for our cache. Whoever is about to end something over a negative one asks
anew: nothing may fail because a memory was stale.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass

from shared.api.objects import GroupVersionKind, JsonObject, Resource
from shared.kube.client import KubeClient, NotFound
from shared.process.clock import Clock, SystemClock

# Seconds for which a version that is served, but without the Kind, is not asked about again, where
# the caller does not say otherwise.
NEGATIVE_SECONDS = 5.0
# What a group and a version look like. They come from users' templates and become part of a path.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


class UnknownKind(LookupError):
    """The API server does not serve this Kind (now). Says what is missing."""

    def __init__(self, gvk: GroupVersionKind, detail: str) -> None:
        super().__init__(f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"{detail}')
        self.gvk = gvk


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one version of a group serves: Kind -> resource."""

    kinds: Mapping[str, Resource]
    read_at: float  # the clock's seconds
    number: int  # of the request, among all requests of this object


class Discovery:
    """Answers from memory where it can. One object per client; safe to share between tasks.

    `negative_seconds` is for how long "that version has no such Kind" is believed.
    """

    def __init__(
        self,
        client: KubeClient,
        clock: Clock | None = None,
        *,
        negative_seconds: float = NEGATIVE_SECONDS,
    ) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._negative_seconds = negative_seconds
        # By (group, version).
        self._answers: dict[tuple[str, str], _Answer] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._requests = 0  # that have begun

    def moment(self) -> int:
        """Now, for `since`."""
        return self._requests

    async def resource_for(self, gvk: GroupVersionKind, *, since: int | None = None) -> Resource:
        """The resource of `gvk`. Raises UnknownKind, or KubeError when discovery itself fails.

        With `since`, a `moment`, no "no" from before it is believed: for whoever acts on it for
        good. Several questions about one thing have one moment.
        """
        if not gvk.kind or not all(map(_NAME.fullmatch, (gvk.group or "core", gvk.version))):
            raise UnknownKind(gvk, ": that is no kind of any API")
        key = (gvk.group, gvk.version)
        if resource := self._known(gvk):
            return resource
        # One request serves all who ask at once. Those who come while it is under way, and want
        # what is fresh, share the next: it may have been answered before they asked.
        try:
            async with self._locks.setdefault(key, asyncio.Lock()):
                if resource := self._known(gvk):
                    return resource
                if not self._is_believed(key, since):
                    await self._read(gvk)
        finally:
            # What is not served is named by users, and there is no end to what they can name.
            if key not in self._answers:
                self._locks.pop(key, None)
        if resource := self._known(gvk):
            return resource
        raise UnknownKind(gvk, "")

    def forget(self, gvk: GroupVersionKind) -> None:
        """To be called when a request to its resource met a 404 of the resource itself."""
        self._answers.pop((gvk.group, gvk.version), None)

    def _known(self, gvk: GroupVersionKind) -> Resource | None:
        answer = self._answers.get((gvk.group, gvk.version))
        return None if answer is None else answer.kinds.get(gvk.kind)

    def _is_believed(self, key: tuple[str, str], since: int | None) -> bool:
        """The "no" of a request after that moment; without one, of a request that is young."""
        answer = self._answers.get(key)
        if answer is None:
            return False
        if since is not None:
            return answer.number > since
        return self._clock.monotonic() - answer.read_at < self._negative_seconds

    async def _read(self, gvk: GroupVersionKind) -> None:
        key = (gvk.group, gvk.version)
        prefix = f"/apis/{gvk.group}" if gvk.group else "/api"
        self._requests += 1
        number = self._requests
        try:
            answer = await self._client.get_path(f"{prefix}/{gvk.version}")
        except NotFound as error:
            # Never remembered: the CRD may be about to be installed.
            if self._is_news(key, number):
                self.forget(gvk)
            raise UnknownKind(gvk, "; is its CRD installed?") from error
        if self._is_news(key, number):
            self._answers[key] = _Answer(_by_kind(gvk, answer), self._clock.monotonic(), number)

    def _is_news(self, key: tuple[str, str], number: int) -> bool:
        """No later request has been answered yet."""
        known = self._answers.get(key)
        return known is None or known.number < number


def _by_kind(gvk: GroupVersionKind, answer: JsonObject) -> dict[str, Resource]:
    """The resources of an APIResourceList that hold objects of their own: no subresources.

    An entry may name another group or version for its objects (Scale, Eviction); those are
    subresources only.
    """
    return {
        entry["kind"]: Resource(
            gvk.group, gvk.version, entry["name"], entry["kind"], bool(entry["namespaced"])
        )
        for entry in answer.get("resources", [])
        if "/" not in entry["name"]
    }
