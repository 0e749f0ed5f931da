"""Read AppWrappers and the objects that explain them. I/O only.

Objects that the user may not read (403) become `Unread`. Most other failures end the command: an
explanation without these objects could be wrong.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cli.cluster.appwrappers import AppWrapperReader
from cli.cluster.reader import Reader
from cli.cluster.unread import Many, One, Unread, objects
from cli.cluster.visibility import pending_workloads
from cli.explaining.appwrapper_objects import AppWrapperObjects, NamespaceObjects
from controller.facts.component_status import kind_of, made_pod_sets, pods_in
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import (
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    JsonObject,
    Resource,
    label,
)
from shared.kinds.table import record_of
from shared.kube.discovery import UnknownKind
from shared.waits import kueue_settings
from shared.waits.quota import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES
from shared.waits.workload import WORKLOADS

_AT_ONCE: Final = 8
_ABOUT_APPWRAPPERS: Final = "involvedObject.kind=AppWrapper"
# The facts that are unknown without the resource.
_UNKNOWN_WITHOUT: Final = {
    "nodes": "whether a node is large enough",
    "clusterqueues": "how much quota is used and free",
    "cohorts": "what can be borrowed",
    "workloads": "who holds quota",
    "localqueues": "whether the queue exists and is open",
    "pods": "what its pods do",
    "events": "what happened to it",
}


@dataclass(frozen=True, slots=True)
class ExplanationReader(AppWrapperReader):
    """Reads also the objects that explain the AppWrappers."""

    async def seen(self, raws: Sequence[JsonObject]) -> tuple[AppWrapperObjects, ...]:
        """Read the objects that explain the AppWrappers: one list of pods and one of events.

        More is read about a single AppWrapper, if its pods are missing or find no node.
        """
        world = await self._world(raws)
        only = str(raws[0]["metadata"]["name"]) if len(raws) == 1 else ""
        of_one, about_one = (f"={only}", f",involvedObject.name={only}") if only else ("", "")
        waiting = filter(_may_wait, map(AppWrapper, raws))
        queues = dict.fromkeys(each.queue_name for each in waiting if each.queue_name)
        pods, events, pending = await asyncio.gather(
            self._many(PODS, self.namespace, label_selector=f"{LABEL_APPWRAPPER}{of_one}"),
            self._many(EVENTS, self.namespace, field_selector=f"{_ABOUT_APPWRAPPERS}{about_one}"),
            asyncio.gather(
                *(pending_workloads(self._reader, self.namespace, each) for each in queues)
            ),
        )
        by_queue = dict(zip(queues, pending, strict=True))
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(raw: JsonObject) -> AppWrapperObjects:
            appwrapper = AppWrapper(raw)
            components = [self._component(each, slots) for each in appwrapper.component_statuses]
            return AppWrapperObjects(
                now=self.cluster.now(),
                appwrapper=raw,
                world=world,
                components=tuple(await asyncio.gather(*components)),
                pods=_chosen(pods, lambda pod: label(pod, LABEL_APPWRAPPER) == appwrapper.name),
                events=_chosen(
                    events, lambda each: each["involvedObject"].get("name") == appwrapper.name
                ),
                pending=by_queue.get(appwrapper.queue_name) if _may_wait(appwrapper) else None,
            )

        found = tuple(await asyncio.gather(*map(one, raws)))
        return (await self._with_reasons(found[0]),) if len(found) == 1 else found

    async def _world(self, appwrappers: Iterable[JsonObject]) -> NamespaceObjects:
        """Read the objects that at least one of the AppWrappers needs."""
        waiting = [each for each in map(AppWrapper, appwrappers) if _may_wait(each)]
        what = _described(WORKLOADS, self.namespace)
        settings, own = await asyncio.gather(
            self._reader.operator_configuration(),
            self._reader.many(WORKLOADS, self.namespace, what=what),
        )
        world = NamespaceObjects(
            settings=settings, own_workloads=own or (), has_kueue=own is not None
        )
        if not waiting:
            return world
        lists = asyncio.gather(
            self._many(WORKLOADS, None),
            self._many(LOCAL_QUEUES, self.namespace),
            self._many(CLUSTER_QUEUES, None),
            self._many(COHORTS, None),
            self._many(NODES, None),
        )
        namespace, kueue = await asyncio.gather(
            self._reader.one(NAMESPACES, None, self.namespace),
            self._kueue_settings(settings.kueue_namespaces),
        )
        workloads, local_queues, cluster_queues, cohorts, nodes = await lists
        return replace(
            world,
            namespace=namespace,
            kueue_settings=kueue,
            all_workloads=workloads,
            local_queues=local_queues,
            cluster_queues=cluster_queues,
            cohorts=cohorts,
            nodes=nodes,
        )

    async def _with_reasons(self, seen: AppWrapperObjects) -> AppWrapperObjects:
        """Read nodes for unscheduled pods, and components' events if pods are missing."""
        pods = objects(seen.pods)
        is_unscheduled = any(not (each.get("spec") or {}).get("nodeName") for each in pods)
        if is_unscheduled and not seen.world.nodes:
            nodes = await self._many(NODES, None)
            seen = replace(seen, world=replace(seen.world, nodes=nodes))
        running = AppWrapper(seen.appwrapper).status.get("phase") == Phase.RUNNING
        recorded = AppWrapper(seen.appwrapper).component_statuses
        if not running or len(pods) >= sum(pods_in(each) for each in recorded):
            return seen
        selectors = [
            f"involvedObject.kind={each.get('kind')},involvedObject.name={each.get('name')}"
            for at, each in enumerate(recorded)
            if made_pod_sets(recorded, at)
        ]
        reads = [self._many(EVENTS, self.namespace, field_selector=each) for each in selectors]
        found = await asyncio.gather(*reads)
        unread = next((each for each in found if isinstance(each, Unread)), None)
        events = tuple(each for many in found for each in objects(many))
        return replace(seen, component_events=events if unread is None else unread)

    async def _kueue_settings(self, namespaces: Iterable[str]) -> JsonObject | None:
        """Return the first configuration of Kueue that exists and may be read."""
        for namespace in namespaces:
            found = await self._reader.one(kueue_settings.RESOURCE, namespace, kueue_settings.NAME)
            if isinstance(found, dict):
                return found
        return None

    async def _component(self, recorded: JsonObject, slots: asyncio.Semaphore) -> One:
        name, gvk = recorded.get("name") or "", kind_of(recorded)
        if not name:
            return None
        what = f"{gvk.kind} {name}"
        async with slots:
            try:
                resource = await self.cluster.discovery.in_any_version(gvk)
            except UnknownKind as error:
                return Unread(what, str(error))
            outline = record_of(gvk.group_kind).report is None
            # The explanation is useful without a component that cannot be read.
            return await Reader(self.cluster.client).one(
                resource, self.namespace, name, what=what, metadata_only=outline
            )

    async def _many(self, resource: Resource, namespace: str | None, **selectors: str) -> Many:
        """Return the objects, none if the API server does not serve the resource."""
        what = _described(resource, namespace)
        return await self._reader.many(resource, namespace, what=what, **selectors) or ()

    @property
    def _reader(self) -> Reader:
        return Reader(self.cluster.client, only_forbidden=True)


def _described(resource: Resource, namespace: str | None) -> str:
    scope = f"namespace {namespace}" if namespace else "the cluster"
    return f"{resource.plural} of {scope}: {_UNKNOWN_WITHOUT[resource.plural]}"


def _may_wait(appwrapper: AppWrapper) -> bool:
    return appwrapper.status.get("phase") in (None, Phase.EMPTY, Phase.SUSPENDED)


def _chosen(found: Many, belongs: Callable[[JsonObject], bool]) -> Many:
    return found if isinstance(found, Unread) else tuple(filter(belongs, found))
