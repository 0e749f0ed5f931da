"""Watches of the wrapped Kinds: each begins when a Kind is first used and ends when it is unused.

Watches select objects by label. Kinds whose status the controller reads are watched whole, all
others by metadata. Secrets are neither listed nor watched (least privilege), only read live. Pods
have their own informer.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from controller.facts.components import ComponentFacts, project_component
from controller.facts.failed_pods import failure_in
from controller.facts.pods import Pod
from controller.facts.unexpected_objects import Owned
from controller.memory.memory import Memory
from shared.api.conditions import Terminal
from shared.api.names import KIND, LABEL_APPWRAPPER
from shared.api.objects import PODS, GroupVersionKind, JsonObject, Resource
from shared.kinds.table import record_of
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.sources import Sources

logger = logging.getLogger(__name__)

UNWATCHED: Final = frozenset({"Secret"})
# Seconds that a pass waits for the first list of a Kind before it reads live instead.
FIRST_LIST: Final = 5.0
# Seconds after which the watch of an unused Kind ends. A watch that fails or has never listed ends
# sooner.
UNUSED: Final = 600.0
UNUSED_AND_UNSEEN: Final = 60.0
_LOOK: Final = 30.0
# Seconds without reads of a Kind after a read without an answer. Otherwise AppWrappers with such
# components could keep all workers waiting.
SILENCE: Final = 10.0

_BY_OWNER: Final = "owner"

Wake = Callable[[tuple[str, str]], None]
# True if an AppWrapper with that key and UID exists.
IsAlive = Callable[[tuple[str, str], str], bool]


@dataclass(slots=True)
class _Watched:
    """The watch of one Kind. `used`: when it was last needed, in the clock's seconds."""

    informer: Informer[ComponentFacts | None]
    task: asyncio.Task[None]
    used: float
    late: bool = False  # a pass waited for its first list without success
    refused: bool = False  # the AppWrappers that use it were woken because of this


class ComponentWatches:
    """Calls `wake` with the key of an AppWrapper whose component changed.

    Deleted objects are remembered only while `is_alive` holds for their AppWrapper. An unused Kind
    is watched only while such an AppWrapper has an object of it.
    """

    def __init__(
        self,
        client: KubeClient,
        pods: Informer[Pod],
        sources: Sources,
        wake: Wake,
        is_alive: IsAlive,
        memory: Memory,
    ) -> None:
        self._client = client
        self._sources = sources
        self._clock = sources.clock
        self._wake = wake
        self._is_alive = is_alive
        self._pods = pods
        self._watched: dict[Resource, _Watched] = {}
        self._silent: dict[Resource, float] = {}  # until when
        self._begun = asyncio.Event()
        self._memory = memory
        pods.add_handler(self._pod_changed)

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

    async def ensure(self, resource: Resource) -> None:
        """Watch `resource` unless it is a Secret. Wait briefly for the first list."""
        if resource == PODS or resource.gvk.group_kind in UNWATCHED:
            return
        watched = self._watched.get(resource) or self._begin(resource)
        watched.used = self._clock.monotonic()
        if watched.informer.synced or watched.late:
            return
        try:
            async with self._clock.timeout(FIRST_LIST):
                await watched.informer.wait_synced()
        except TimeoutError:
            # For example, the list is forbidden. Without live reads every pass would wait as long.
            watched.late = True
            logger.warning("no list of %s yet; reading its objects live", resource.plural)

    @property
    def informers(self) -> list[Informer[ComponentFacts | None]]:
        """The informers of all Kinds that are watched now."""
        return [each.informer for each in self._watched.values()]

    def not_served(self, gvk: GroupVersionKind) -> None:
        """End the watches of an unserved Kind. `ensure` begins them again later."""
        for resource in [each for each in self._watched if each.gvk == gvk]:
            self._end(resource, "it is not served")

    def is_watched(self, resource: Resource) -> bool:
        """True if a change of such an object wakes its AppWrapper."""
        informer = self._synced(resource)
        return resource == PODS or (informer is not None and not informer.refused)

    def is_refused(self, resource: Resource) -> bool:
        """True if the API server rejects the watch, so the cached objects may be outdated."""
        informer = self._synced(resource)
        return informer is not None and informer.refused

    def fall_silent(self, resource: Resource) -> None:
        """Record that a read of such an object had no answer."""
        self._silent[resource] = self._clock.monotonic() + SILENCE

    def is_silent(self, resource: Resource) -> bool:
        """True if a recent read had no answer, so another read would only wait."""
        return self._clock.monotonic() < self._silent.get(resource, 0.0)

    def known(
        self, resource: Resource, namespace: str, name: str, owner_uid: str
    ) -> ComponentFacts | None:
        """Return the cached object of this owner; None does not prove that it is gone."""
        facts = self._cached(resource, namespace, name)
        return facts if facts and facts.owner_uid == owner_uid else None

    def owned(self, owner_uid: str) -> list[Owned]:
        """Return the cached objects that this owner controls, of all Kinds with a good watch."""
        return [
            (resource, facts)
            for resource, watched in self._watched.items()
            if watched.informer.synced and not watched.informer.refused
            for _, facts in watched.informer.indexed(_BY_OWNER, owner_uid)
            if facts is not None and facts.controlled
        ]

    def last_seen(self, group_kind: str, name: str, owner_uid: str) -> ComponentFacts | None:
        """Return the last state of an object before its DELETED event; None without one."""
        return self._memory.known(owner_uid).deleted.get((group_kind, name))

    def assume(self, resource: Resource, written: JsonObject) -> None:
        """Update the cache with an object that the API server just returned.

        An object without the label is not cached: no watch would report its changes.
        """
        if LABEL_APPWRAPPER not in (written["metadata"].get("labels") or {}):
            return
        if resource == PODS:
            self._pods.assume(written, silent=True)
        elif (watched := self._watched.get(resource)) is not None:
            watched.informer.assume(written, silent=True)

    def _begin(self, resource: Resource) -> _Watched:
        group_kind = resource.gvk.group_kind
        informer: Informer[ComponentFacts | None] = Informer(
            self._client,
            resource,
            transform=lambda item: project_component(group_kind, item),
            sources=self._sources,
            label_selector=LABEL_APPWRAPPER,
            indexes={_BY_OWNER: lambda facts: (facts.owner_uid,) if facts else ()},
            metadata_only=record_of(group_kind).report is None,
            failed=lambda error: self._watch_failed(resource, error),
        )
        informer.add_handler(lambda change: self._component_changed(group_kind, change))
        task = asyncio.create_task(
            informer.run(), name=f"informer of {resource.gvk.api_version} {resource.plural}"
        )
        watched = self._watched[resource] = _Watched(informer, task, self._clock.monotonic())
        # `run` waits for the informers' tasks and must also wait for this one.
        self._begun.set()
        return watched

    def _end(self, resource: Resource, reason: str) -> None:
        """End a watch and drop its cache: passes read live until `ensure` begins a new watch."""
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
        """True if no pass has used it for a while and no living AppWrapper has an object of it."""
        idle = self._clock.monotonic() - watched.used
        seen = watched.informer.synced and not watched.informer.failing
        if idle < (UNUSED if seen else UNUSED_AND_UNSEEN):
            return False
        return not any(
            facts and self._is_alive((facts.namespace, facts.owner_name), facts.owner_uid)
            for _, facts in watched.informer.items()
        )

    def _synced(self, resource: Resource) -> Informer[ComponentFacts | None] | None:
        watched = self._watched.get(resource)
        return watched.informer if watched and watched.informer.synced else None

    def _cached(self, resource: Resource, namespace: str, name: str) -> ComponentFacts | None:
        if resource == PODS:
            pod = self._pods.get(namespace, name)
            return facts_of_pod(pod) if pod else None
        # Without a list, the deletion of an object cached by `assume` would never be noticed.
        informer = self._synced(resource)
        return None if informer is None else informer.get(namespace, name)

    def _component_changed(self, group_kind: str, change: Change[ComponentFacts | None]) -> None:
        facts = change.new or change.old
        if facts is None:
            return
        if change.new is None:
            last = project_component(group_kind, change.last) if change.last else None
            self._remember(last or facts)
        self._wake((facts.namespace, facts.owner_name))

    def _watch_failed(self, resource: Resource, error: KubeError) -> None:
        """Wake the AppWrappers of a Kind that is no longer served or whose watch is rejected.

        Deleting a CRD deletes its objects, and their DELETED events may be lost with the watch.
        """
        watched = self._watched.get(resource)
        if watched is None:
            return
        unserved = isinstance(error, NotFound) and error.of_resource
        told, watched.refused = watched.refused, watched.informer.refused
        if not unserved and (told or not watched.refused):
            return
        known = [facts for _, facts in watched.informer.items() if facts]
        if unserved:
            self._end(resource, "it is not served")
        for facts in known:
            self._wake((facts.namespace, facts.owner_name))

    def _pod_changed(self, change: Change[Pod]) -> None:
        self._remember_end(change.old, change.new)
        if change.new is None and change.old is not None and change.old.owner_kind in (KIND, ""):
            self._remember(facts_of_pod(change.old))

    def _remember_end(self, old: Pod | None, new: Pod | None) -> None:
        """Remember how a deleted pod ended, if it ended before its deletion was requested.

        A pod that ends after that request may not have finished its work.
        """
        if old is None or not (new is None or new.deleting):
            return
        ended_well = old.phase == "Succeeded" and not old.deleting
        failed = failure_in(old)
        if not (ended_well or failed):
            return
        if not self._is_alive((old.namespace, old.appwrapper), old.appwrapper_uid):
            return
        if failed is not None:
            self._memory.sightings.see_failure(failed)
        else:
            self._memory.sightings.see_success(old)

    def _remember(self, facts: ComponentFacts) -> None:
        # The last events of an AppWrapper's objects arrive after its own DELETED event.
        if self._is_alive((facts.namespace, facts.owner_name), facts.owner_uid):
            self._memory.of(facts.owner_uid).deleted[facts.group_kind, facts.name] = facts


def facts_of_pod(pod: Pod) -> ComponentFacts:
    """Return a pod as a component. The owner is found as in `project_component`."""
    return ComponentFacts(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        owner_uid=pod.owner_uid or pod.appwrapper_uid,
        owner_name=pod.appwrapper,
        attempt=pod.attempt,
        deleting=pod.deleting,
        leaves=pod.leaves,
        terminal=Terminal.SUCCEEDED if pod.phase == "Succeeded" else None,
    )
