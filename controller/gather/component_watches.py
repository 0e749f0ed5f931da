"""Watches of the wrapped Kinds that are in use, each begun when it is first needed.

Objects of interpreted Kinds are watched whole and projected; of all others only the metadata, by
label. Secrets are neither listed nor watched (least privilege): whoever needs to know reads them
live. Pods have an informer of their own.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from controller.gather.component_facts import ComponentFacts, project_component
from controller.gather.component_status.by_kind import REPORT_BY_KIND
from controller.gather.pod import Pod
from controller.phases.snapshot import Terminal
from shared.api.json import JsonObject
from shared.api.names import KIND, LABEL_APPWRAPPER
from shared.clock import Clock
from shared.kube.client import KubeClient
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.kube.resource import PODS, Resource

logger = logging.getLogger(__name__)

UNWATCHED: Final = frozenset({"Secret"})
# Seconds that a decision waits for the first list of a Kind before it reads live instead.
FIRST_LIST: Final = 5.0

Wake = Callable[[tuple[str, str]], None]
StartPart = Callable[[str, Callable[[], Awaitable[None]]], None]
# Whether there is an AppWrapper of that key and UID.
IsAlive = Callable[[tuple[str, str], str], bool]


class ComponentWatches:
    """`wake` is called with the key of an AppWrapper whose component changed.

    `start` runs an informer for as long as the process runs. What went is remembered only for
    AppWrappers of which `is_alive` holds.
    """

    def __init__(
        self,
        client: KubeClient,
        pods: Informer[Pod],
        clock: Clock,
        wake: Wake,
        start: StartPart,
        is_alive: IsAlive,
    ) -> None:
        self._client = client
        self._clock = clock
        self._wake = wake
        self._start = start
        self._is_alive = is_alive
        self._pods = pods
        self._informers: dict[Resource, Informer[ComponentFacts | None]] = {}
        self._late: set[Resource] = set()  # their first list was waited for once, in vain
        # AppWrapper UID -> (group/Kind, name) -> how it was last seen.
        self._deleted: dict[str, dict[tuple[str, str], ComponentFacts]] = {}
        pods.add_handler(self._pod_changed)

    async def ensure(self, resource: Resource) -> None:
        """Sees to it that objects of `resource` are watched, as far as they may be."""
        if resource == PODS or resource.gvk.group_kind in UNWATCHED:
            return
        informer = self._informers.get(resource)
        if informer is None:
            informer = self._begin(resource)
        if informer.synced or resource in self._late:
            return
        try:
            await asyncio.wait_for(informer.wait_synced(), FIRST_LIST)
        except TimeoutError:
            # Not allowed, say. Every decision would wait as long; live reads do it too.
            self._late.add(resource)
            logger.warning("no list of %s yet; reading its objects live", resource.plural)

    def is_watched(self, resource: Resource) -> bool:
        """A change of such an object wakes its AppWrapper."""
        informer = self._informers.get(resource)
        return resource == PODS or (informer is not None and informer.synced)

    def known(
        self, resource: Resource, namespace: str, name: str, owner_uid: str
    ) -> ComponentFacts | None:
        """The object, if a watch or a write of ours showed it; None proves nothing."""
        facts = self._cached(resource, namespace, name)
        return facts if facts and facts.owner_uid == owner_uid else None

    def last_seen(self, resource: Resource, name: str, owner_uid: str) -> ComponentFacts | None:
        """How an object looked when a watch last told of it, before it said DELETED."""
        return self._deleted.get(owner_uid, {}).get((resource.gvk.group_kind, name))

    def observe(self, resource: Resource, written: JsonObject) -> None:
        """Lays an object that the API server just returned over what is known."""
        if resource == PODS:
            self._pods.observe(written, silent=True)
        elif (informer := self._informers.get(resource)) is not None:  # an empty one is falsy
            informer.observe(written, silent=True)

    def forget(self, owner_uid: str) -> None:
        """The AppWrapper is gone."""
        self._deleted.pop(owner_uid, None)

    def _begin(self, resource: Resource) -> Informer[ComponentFacts | None]:
        group_kind = resource.gvk.group_kind
        informer: Informer[ComponentFacts | None] = Informer(
            self._client,
            resource,
            project=lambda item: project_component(group_kind, item),
            clock=self._clock,
            label_selector=LABEL_APPWRAPPER,
            metadata_only=group_kind not in REPORT_BY_KIND,
        )
        informer.add_handler(lambda change: self._component_changed(group_kind, change))
        # Two versions of one Kind are two resources.
        self._start(f"informer of {resource.gvk.api_version} {resource.plural}", informer.run)
        self._informers[resource] = informer
        return informer

    def _cached(self, resource: Resource, namespace: str, name: str) -> ComponentFacts | None:
        if resource == PODS:
            pod = self._pods.get(namespace, name)
            return facts_of_pod(pod) if pod else None
        informer = self._informers.get(resource)
        # Without a list, what our own writes showed would never be seen to go.
        return informer.get(namespace, name) if informer is not None and informer.synced else None

    def _component_changed(self, group_kind: str, change: Change[ComponentFacts | None]) -> None:
        facts = change.new or change.old
        if facts is None:
            return
        if change.new is None:
            last = project_component(group_kind, change.last) if change.last else None
            self._remember(last or facts)
        self._wake((facts.namespace, facts.owner_name))

    def _pod_changed(self, change: Change[Pod]) -> None:
        if change.new is None and change.old is not None and change.old.owner_kind in (KIND, ""):
            self._remember(facts_of_pod(change.old))

    def _remember(self, facts: ComponentFacts) -> None:
        # The last events of an AppWrapper's objects come after its own.
        if self._is_alive((facts.namespace, facts.owner_name), facts.owner_uid):
            self._deleted.setdefault(facts.owner_uid, {})[facts.group_kind, facts.name] = facts


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
        terminal=Terminal.SUCCEEDED if pod.phase == "Succeeded" else None,
    )
