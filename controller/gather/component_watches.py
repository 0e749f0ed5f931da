"""Watches of the wrapped Kinds that are in use: begun when first needed, ended when needed no more.

Objects of interpreted Kinds are watched whole and projected; of all others only the metadata, by
label. Secrets are neither listed nor watched (least privilege): whoever needs to know reads them
live. Pods have an informer of their own.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from controller.facts.components import ComponentFacts, project_component
from controller.facts.failures import failure_in
from controller.facts.pods import Pod
from controller.memory import Memory
from shared.api.conditions import Terminal
from shared.api.names import KIND, LABEL_APPWRAPPER
from shared.api.objects import PODS, GroupVersionKind, JsonObject, Resource
from shared.kinds.table import says_something
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.process.clock import Clock

logger = logging.getLogger(__name__)

UNWATCHED: Final = frozenset({"Secret"})
# Seconds that a decision waits for the first list of a Kind before it reads live instead.
FIRST_LIST: Final = 5.0
# Seconds after which a Kind that no AppWrapper uses is watched no longer. One that is asked for in
# vain goes sooner: its list never came, or nobody serves it now.
UNUSED: Final = 600.0
UNUSED_AND_UNSEEN: Final = 60.0
_LOOK: Final = 30.0
# Seconds in which nothing is read of a Kind of which a read had no answer. Else the workers, which
# wait for each, would come to nothing else where many AppWrappers have such components.
SILENCE: Final = 10.0

Wake = Callable[[tuple[str, str]], None]
# Whether there is an AppWrapper of that key and UID.
IsAlive = Callable[[tuple[str, str], str], bool]


@dataclass(slots=True)
class _Watched:
    """One Kind. `used` is when it was last asked for, in the clock's seconds."""

    informer: Informer[ComponentFacts | None]
    task: asyncio.Task[None]
    used: float
    late: bool = False  # its first list was waited for once, in vain
    refused: bool = False  # those who use it were told so


class ComponentWatches:
    """`wake` is called with the key of an AppWrapper whose component changed.

    What went is remembered only for AppWrappers of which `is_alive` holds; nor is a Kind watched
    for ever of which they have no object.
    """

    def __init__(
        self,
        client: KubeClient,
        pods: Informer[Pod],
        clock: Clock,
        wake: Wake,
        is_alive: IsAlive,
        memory: Memory,
    ) -> None:
        self._client = client
        self._clock = clock
        self._wake = wake
        self._is_alive = is_alive
        self._pods = pods
        self._watched: dict[Resource, _Watched] = {}
        self._silent: dict[Resource, float] = {}  # until when
        self._begun = asyncio.Event()
        self._memory = memory
        pods.add_handler(self._pod_changed)

    async def run(self) -> None:
        """Ends what is used no more, until cancelled. Raises what an informer raises."""
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
        """Sees to it that objects of `resource` are watched, as far as they may be."""
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
            # Not allowed, say. Every decision would wait as long; live reads do it too.
            watched.late = True
            logger.warning("no list of %s yet; reading its objects live", resource.plural)

    def not_served(self, gvk: GroupVersionKind) -> None:
        """The API server knows no such Kind (now). `ensure` begins anew once it does."""
        for resource in [each for each in self._watched if each.gvk == gvk]:
            self._end(resource, "it is not served")

    def is_watched(self, resource: Resource) -> bool:
        """A change of such an object wakes its AppWrapper."""
        informer = self._synced(resource)
        return resource == PODS or (informer is not None and not informer.refused)

    def is_refused(self, resource: Resource) -> bool:
        """The API server no longer lets us watch it, so what is known may be old."""
        informer = self._synced(resource)
        return informer is not None and informer.refused

    def fall_silent(self, resource: Resource) -> None:
        """A read of such an object had no answer."""
        self._silent[resource] = self._clock.monotonic() + SILENCE

    def is_silent(self, resource: Resource) -> bool:
        """A read just had no answer, so that another would wait in vain."""
        return self._clock.monotonic() < self._silent.get(resource, 0.0)

    def known(
        self, resource: Resource, namespace: str, name: str, owner_uid: str
    ) -> ComponentFacts | None:
        """The object, if a watch or a write of ours showed it; None proves nothing."""
        facts = self._cached(resource, namespace, name)
        return facts if facts and facts.owner_uid == owner_uid else None

    def last_seen(self, group_kind: str, name: str, owner_uid: str) -> ComponentFacts | None:
        """How an object looked when a watch last told of it, before it said DELETED."""
        return self._memory.known(owner_uid).deleted.get((group_kind, name))

    def assume(self, resource: Resource, written: JsonObject) -> None:
        """Lays an object that the API server just returned over what is known.

        Not one that lost its label: no watch would tell of what becomes of it.
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
            clock=self._clock,
            label_selector=LABEL_APPWRAPPER,
            metadata_only=not says_something(group_kind),
            failed=lambda error: self._watch_failed(resource, error),
        )
        informer.add_handler(lambda change: self._component_changed(group_kind, change))
        task = asyncio.create_task(
            informer.run(), name=f"informer of {resource.gvk.api_version} {resource.plural}"
        )
        watched = self._watched[resource] = _Watched(informer, task, self._clock.monotonic())
        # Whoever waits for the first informer to fail must wait for this one too.
        self._begun.set()
        return watched

    def _end(self, resource: Resource, reason: str) -> None:
        """What it knew is forgotten with it: decisions read live until it is watched again."""
        self._watched.pop(resource).task.cancel()
        logger.info("watching %s no longer: %s", resource.plural, reason)

    async def _first_of_tasks(self) -> None:
        """Returns when an informer ended or began, and after a while in any case."""
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
        """Nobody asked for it, nor is there an object of an AppWrapper that lives."""
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
        # Without a list, what our own writes showed would never be seen to go.
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
        """Lets AppWrappers look again whose components' Kind is not served, or not shown, any more.

        With a definition its objects go, and their DELETED may be lost with the watch.
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
        """Of a pod that goes now. What ended after it was told to may not have done its work."""
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
        # The last events of an AppWrapper's objects come after its own.
        if self._is_alive((facts.namespace, facts.owner_name), facts.owner_uid):
            self._memory.of(facts.owner_uid).deleted[facts.group_kind, facts.name] = facts


def facts_of_pod(pod: Pod) -> ComponentFacts:
    """A pod as a component: it reports its own success. Whose it is: see `project_component`."""
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
