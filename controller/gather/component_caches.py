"""The caches of the wrapped Kinds: each begins when its Kind is first used and ends when unused.

They belong to the process, so a term of leadership begins and ends with full caches. Watches select
objects by label. Kinds whose status the controller reads are watched whole, all others by metadata.
Secrets are neither listed nor watched (least privilege), only read live. Pods have their own
informer.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from controller.facts.components import ComponentFacts, project_component
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import PODS, GroupVersionKind, Resource
from shared.kinds.table import record_of
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.discovery import Discovery, UnknownKind
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.sources import Sources

logger = logging.getLogger(__name__)

UNWATCHED: Final = frozenset({"Secret"})
# Seconds after which the watch of an unused Kind ends. A watch that fails or has never listed ends
# sooner.
UNUSED: Final = 600.0
UNUSED_AND_UNSEEN: Final = 60.0
_LOOK: Final = 30.0
# Seconds between two looks for new Kinds in AppWrappers. A Kind that is not served, or that
# discovery cannot find now, is looked for again then.
LOOK_FOR_KINDS: Final = 10.0
# Seconds to find one Kind: an extension API server that hangs does not delay the others for long.
_ONE_KIND: Final = 5.0

BY_OWNER: Final = "owner"

Cache = Informer[ComponentFacts | None]
# True if an AppWrapper with that key and UID exists.
IsAlive = Callable[[tuple[str, str], str], bool]


class ComponentFollower(Protocol):
    """A term of leadership."""

    def component_changed(self, group_kind: str, change: Change[ComponentFacts | None]) -> None: ...

    def watch_failed(self, known: Sequence[ComponentFacts]) -> None:
        """The Kind of these objects is not served any more, or its watch is rejected."""


@dataclass(slots=True)
class _Watched:
    """The watch of one Kind. `used`: when it was last needed, in the clock's seconds."""

    cache: Cache
    task: asyncio.Task[None]
    used: float
    refused: bool = False  # the follower knows that the API server rejects the watch


class ComponentCaches:
    """An unused Kind is watched only while an AppWrapper that `is_alive` has an object of it."""

    def __init__(
        self, client: KubeClient, sources: Sources, discovery: Discovery, is_alive: IsAlive
    ) -> None:
        self._client = client
        self._sources = sources
        self._clock = sources.clock
        self._discovery = discovery
        self.is_alive = is_alive
        self._watched: dict[Resource, _Watched] = {}
        self._begun = asyncio.Event()
        self._follower: ComponentFollower | None = None

    async def run(self) -> None:
        """End unused watches until cancelled. Raises what an informer raises."""
        try:
            while True:
                await self._first_of_tasks()
                for resource, watched in list(self._watched.items()):
                    if watched.task.done():
                        await watched.task  # raises what it raised
                        raise RuntimeError(f"the informer of {resource.plural} ended by itself")
                    if self._is_unused(watched):
                        self._end(resource, "no AppWrapper has used it for a while")
        finally:
            for watched in self._watched.values():
                watched.task.cancel()
            await asyncio.gather(
                *(each.task for each in self._watched.values()), return_exceptions=True
            )

    async def watch_kinds(self, kinds: Callable[[], Iterable[GroupVersionKind]]) -> None:
        """Use `kinds` until cancelled, so that a standby watches what a leader uses."""
        while True:
            for each in kinds():
                # A later look tries again. The standby is ready without it.
                with suppress(UnknownKind, KubeError, TimeoutError):
                    async with self._clock.timeout(_ONE_KIND):
                        found = await self._discovery.in_any_version(each)
                    self.use(found)
            await self._clock.sleep(LOOK_FOR_KINDS)

    def follow(self, follower: ComponentFollower) -> None:
        """Report each change from now on to `follower`, which wakes all AppWrappers itself."""
        self._follower = follower

    def drop_handlers(self) -> None:
        """Forget the follower: its term has ended."""
        self._follower = None

    def use(self, resource: Resource) -> Cache | None:
        """Return the cache of a Kind that is needed now; None if such objects are only read."""
        if resource == PODS or resource.gvk.group_kind in UNWATCHED or not resource.namespaced:
            return None
        watched = self._watched.get(resource) or self._begin(resource)
        watched.used = self._clock.monotonic()
        return watched.cache

    def get(self, resource: Resource) -> Cache | None:
        """Return the cache of a Kind if it is watched."""
        watched = self._watched.get(resource)
        return None if watched is None else watched.cache

    @property
    def all(self) -> list[Cache]:
        """The caches of all Kinds that are watched now."""
        return [each.cache for each in self._watched.values()]

    def not_served(self, gvk: GroupVersionKind) -> None:
        """End the watches of an unserved Kind. `use` begins them again later."""
        for resource in [each for each in self._watched if each.gvk == gvk]:
            self._end(resource, "it is not served")

    def _begin(self, resource: Resource) -> _Watched:
        group_kind = resource.gvk.group_kind
        cache: Cache = Informer(
            self._client,
            resource,
            transform=lambda item: project_component(group_kind, item),
            sources=self._sources,
            label_selector=LABEL_APPWRAPPER,
            indexes={BY_OWNER: lambda facts: (facts.owner_uid,) if facts else ()},
            metadata_only=record_of(group_kind).report is None,
            failed=lambda error: self._watch_failed(resource, error),
        )
        cache.add_handler(lambda change: self._component_changed(group_kind, change))
        task = asyncio.create_task(
            cache.run(), name=f"informer of {resource.gvk.api_version} {resource.plural}"
        )
        watched = self._watched[resource] = _Watched(cache, task, self._clock.monotonic())
        # `run` waits for the informers' tasks and must also wait for this one.
        self._begun.set()
        return watched

    def _end(self, resource: Resource, reason: str) -> None:
        """End a watch and drop its cache: passes read live until `use` begins a new watch."""
        self._watched.pop(resource).task.cancel()
        logger.info("watching %s no longer: %s", resource.plural, reason)

    async def _first_of_tasks(self) -> None:
        """Wait until an informer begins or ends, at most `_LOOK` seconds."""
        self._begun.clear()
        begun = asyncio.create_task(self._begun.wait())
        tasks = [begun, *(each.task for each in self._watched.values())]
        try:
            with suppress(TimeoutError):
                async with self._clock.timeout(_LOOK):
                    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()

    def _is_unused(self, watched: _Watched) -> bool:
        """True if it was not used for a while and no living AppWrapper has an object of it."""
        idle = self._clock.monotonic() - watched.used
        seen = watched.cache.synced and not watched.cache.failing
        if idle < (UNUSED if seen else UNUSED_AND_UNSEEN):
            return False
        return not any(
            facts and self.is_alive((facts.namespace, facts.owner_name), facts.owner_uid)
            for _, facts in watched.cache.items()
        )

    def _component_changed(self, group_kind: str, change: Change[ComponentFacts | None]) -> None:
        if self._follower is not None:
            self._follower.component_changed(group_kind, change)

    def _watch_failed(self, resource: Resource, error: KubeError) -> None:
        """Report a Kind that is no longer served or whose watch is rejected.

        Deleting a CRD deletes its objects, and their DELETED events may be lost with the watch.
        """
        watched = self._watched.get(resource)
        if watched is None:
            return
        unserved = isinstance(error, NotFound) and error.of_resource
        was_refused, watched.refused = watched.refused, watched.cache.refused
        if not unserved and (was_refused or not watched.refused):
            return
        known = [facts for _, facts in watched.cache.items() if facts]
        if unserved:
            self._discovery.forget(resource.gvk)
            self._end(resource, "it is not served")
        if self._follower is not None:
            self._follower.watch_failed(known)
