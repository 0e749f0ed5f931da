"""One term's use of the caches of components: AppWrappers are woken, deleted objects remembered."""

import logging
from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakSet

from controller.facts.components import ComponentFacts, project_component
from controller.facts.failed_pods import failure_in
from controller.facts.pod_reasons import NODE_REMOVED
from controller.facts.pods import Pod
from controller.facts.unexpected_objects import Owned
from controller.gather.component_caches import BY_OWNER, Cache, ComponentCaches
from controller.memory.memory import Memory
from shared.api.conditions import Terminal
from shared.api.names import KIND, LABEL_APPWRAPPER
from shared.api.objects import PODS, GroupVersionKind, JsonObject, Resource
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.clock import Clock

logger = logging.getLogger(__name__)

# Seconds that a pass waits for the first list of a Kind before it reads live instead.
FIRST_LIST: Final = 5.0
# Seconds without reads of a Kind after a read without an answer. Otherwise AppWrappers with such
# components could keep all workers waiting.
SILENCE: Final = 10.0

Wake = Callable[[tuple[str, str]], None]


class ComponentWatches:
    """Calls `wake` with the key of an AppWrapper whose component changed.

    For a component that failed it calls `wake_at_once` instead.
    Deleted objects are remembered only while their AppWrapper lives.
    """

    def __init__(
        self,
        caches: ComponentCaches,
        pods: Informer[Pod],
        clock: Clock,
        wake: Wake,
        wake_at_once: Wake,
        memory: Memory,
    ) -> None:
        self._caches = caches
        self._clock = clock
        self._wake = wake
        self._wake_at_once = wake_at_once
        self._pods = pods
        # A pass of this term waited for their first lists without success.
        self._late: WeakSet[Cache] = WeakSet()
        self._silent: dict[Resource, float] = {}  # until when
        self._memory = memory
        pods.add_handler(self._pod_changed)
        caches.follow(self)

    async def ensure(self, resource: Resource) -> None:
        """Watch `resource` unless it is a Secret. Wait briefly for the first list."""
        cache = self._caches.use(resource)
        if cache is None or cache.synced or cache in self._late:
            return
        try:
            async with self._clock.timeout(FIRST_LIST):
                await cache.wait_synced()
        except TimeoutError:
            # For example, the list is forbidden. Without live reads every pass would wait as long.
            self._late.add(cache)
            logger.warning("no list of %s yet; reading its objects live", resource.plural)

    def not_served(self, gvk: GroupVersionKind) -> None:
        """End the watches of an unserved Kind. `ensure` begins them again later."""
        self._caches.not_served(gvk)

    def is_watched(self, resource: Resource) -> bool:
        """True if a change of such an object wakes its AppWrapper."""
        cache = self._synced(resource)
        return resource == PODS or (cache is not None and not cache.refused)

    def is_refused(self, resource: Resource) -> bool:
        """True if the API server rejects the watch, so the cached objects may be outdated."""
        cache = self._synced(resource)
        return cache is not None and cache.refused

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
            (cache.resource, facts)
            for cache in self._caches.all
            if cache.synced and not cache.refused
            for _, facts in cache.indexed(BY_OWNER, owner_uid)
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
        elif (cache := self._caches.get(resource)) is not None:
            cache.assume(written, silent=True)

    def component_changed(self, group_kind: str, change: Change[ComponentFacts | None]) -> None:
        """Remember a deleted object, and wake its AppWrapper."""
        facts = change.new or change.old
        if facts is None:
            return
        if change.new is None:
            last = project_component(group_kind, change.last) if change.last else None
            self._remember(last or facts)
        failed = change.new is not None and facts.terminal is Terminal.FAILED
        wake = self._wake_at_once if failed else self._wake
        wake((facts.namespace, facts.owner_name))

    def watch_failed(self, known: Sequence[ComponentFacts]) -> None:
        """Wake the AppWrappers of objects whose watch can no longer be trusted."""
        for facts in known:
            self._wake((facts.namespace, facts.owner_name))

    def _synced(self, resource: Resource) -> Cache | None:
        cache = self._caches.get(resource)
        return cache if cache is not None and cache.synced else None

    def _cached(self, resource: Resource, namespace: str, name: str) -> ComponentFacts | None:
        if resource == PODS:
            pod = self._pods.get(namespace, name)
            return facts_of_pod(pod) if pod else None
        # Without a list, the deletion of an object cached by `assume` would never be noticed.
        cache = self._synced(resource)
        return None if cache is None else cache.get(namespace, name)

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
        if not self._caches.is_alive((old.namespace, old.appwrapper), old.appwrapper_uid):
            return
        if failed is not None:
            self._memory.sightings.see_failure(failed)
        else:
            self._memory.sightings.see_success(old)

    def _remember(self, facts: ComponentFacts) -> None:
        # The last events of an AppWrapper's objects arrive after its own DELETED event.
        if self._caches.is_alive((facts.namespace, facts.owner_name), facts.owner_uid):
            self._memory.of(facts.owner_uid).deleted[facts.group_kind, facts.name] = facts


def facts_of_pod(pod: Pod) -> ComponentFacts:
    """Return a pod as a component. The owner is found as in `project_component`.

    A failed pod gets the grace period of failed pods, unless its node was removed.
    """
    removed = pod.phase == "Failed" and pod.cause == NODE_REMOVED
    ended = Terminal.FAILED if removed else None
    return ComponentFacts(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        owner_uid=pod.owner_uid or pod.appwrapper_uid,
        owner_name=pod.appwrapper,
        attempt=pod.attempt,
        deleting=pod.deleting,
        deletion_deadline=pod.deletion_deadline,
        terminal=Terminal.SUCCEEDED if pod.phase == "Succeeded" else ended,
        message="its node was removed" if removed else "",
    )
