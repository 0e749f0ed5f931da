"""List live what a component owns: for the proof that all of it is gone.

A background deletion removes a component before the objects that it owns. So the controller sends
one only if a list proves that the component owns no pods and nothing that could create pods.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.facts.deployed import Deployed
from controller.facts.observe import Reads, kind_of
from controller.facts.stuck_deletions import Stuck, stuck_deletions
from controller.gather.component_reads import concerns_all
from controller.gather.unserved_kinds import UnservedKinds
from controller.memory.deletions import Deletions
from controller.phases.snapshot import Component, Presence
from controller.reports.deleting_resources import (
    LeftComponent,
    LeftPod,
    blockers,
    finalizers_of,
    forced_off,
    owned_name,
)
from shared.api.appwrapper import AppWrapper
from shared.api.names import LABEL_ATTEMPT, LABEL_UID
from shared.api.objects import NODES, PODS, JsonObject, Resource, is_label_value
from shared.kinds.job import JOBS
from shared.kinds.pod import POD
from shared.kinds.scaled import REPLICA_SETS
from shared.kinds.table import BY_GROUP_KIND, KINDS
from shared.kinds.without_pods import CLAIMS, POD_GROUPS, SERVICES
from shared.kube.client import ApiError, Forbidden, KubeClient, NotFound
from shared.kube.discovery import Discovery, UnknownKind

# Nodes whose kubelets cannot stop pods: the node is gone, or its kubelet does not report.
#
# Read live by name, because only overdue pods need it.

MOST_NODES: Final = 20
_TAINTS: Final = {
    "node.kubernetes.io/unreachable": "does not answer",
    "node.kubernetes.io/not-ready": "is not ready",
}


async def silent_nodes(client: KubeClient, names: Iterable[str]) -> Mapping[str, str]:
    """Return why each silent node cannot stop pods, by name, as the end of a sentence.

    Reads at most MOST_NODES. Raises KubeError, but not Forbidden.
    """
    states: dict[str, str] = {}
    for name in sorted(filter(None, set(names)))[:MOST_NODES]:
        try:
            state = silence_of(await client.get(NODES, None, name))
        except NotFound:
            state = "no longer exists"
        except Forbidden:
            state = "may not be read"
        if state:
            states[name] = state
    return states


def silence_of(node: JsonObject) -> str:
    """Return `does not answer since …`; empty for a node whose kubelet reports."""
    taints = (node.get("spec") or {}).get("taints") or ()
    for key, said in _TAINTS.items():
        if silent := [each for each in taints if each.get("key") == key]:
            # The taint exists with two effects, which may be added a second apart.
            times = (each.get("timeAdded") for each in silent)
            return _since(said, min((each for each in times if isinstance(each, str)), default=""))
    for each in (node.get("status") or {}).get("conditions") or ():
        if each.get("type") == "Ready" and each.get("status") != "True":
            silent = each.get("status") == "Unknown"
            said = "does not answer" if silent else "is not ready"
            return _since(said, each.get("lastTransitionTime"))
    return ""


def _since(said: str, time: object) -> str:
    return f"{said} since {time}" if isinstance(time, str) and time else said


# Resources that an object of an unknown Kind may own: all that the controller may list.
_ANYTHING: Final = (
    PODS,
    REPLICA_SETS,
    *(each.resource for each in KINDS if each.pod_sets is not None and each is not POD),
    SERVICES,
    CLAIMS,
    POD_GROUPS,
)


def owned_by(group_kind: str) -> tuple[Resource, ...]:
    """Return the resources that controllers create for an object of that Kind."""
    kind = BY_GROUP_KIND.get(group_kind)
    return _ANYTHING if kind is None else kind.owns


@dataclass(frozen=True, slots=True)
class Dependants:
    """`names`: Kind and name of each found object. `unproved`: failed lists, with the reason."""

    names: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()


class DependantSearch:
    """Lists the owned objects in the component's namespace: whole Jobs, all others by metadata."""

    def __init__(self, client: KubeClient, discovery: Discovery, unserved: UnservedKinds) -> None:
        self._client = client
        self._discovery = discovery
        self._unserved = unserved

    async def of(self, resource: Resource, namespace: str, uid: str) -> Dependants:
        """List what the object of that UID owns. Raises KubeError, but not Forbidden."""
        names: list[str] = []
        unproved: list[str] = []
        for kind in owned_by(resource.gvk.group_kind):
            try:
                resource = await self._discovery.in_any_version(kind.gvk)
                names += await self._owned(resource, namespace, uid)
            except Forbidden:
                unproved.append(f"{kind.plural} may not be listed")
            except UnknownKind:
                if obstacle := await self._unserved.obstacle(kind.gvk):
                    unproved.append(f"{kind.kind}: {obstacle}")
            except ApiError as error:
                if concerns_all(error):
                    raise
                unproved.append(f"{kind.plural} cannot be listed: {error}")
        return Dependants(tuple(names), tuple(unproved))

    async def _owned(self, resource: Resource, namespace: str, uid: str) -> list[str]:
        metadata_only = resource.gvk.group_kind != JOBS.gvk.group_kind
        pages = self._client.pages(resource, namespace, metadata_only=metadata_only)
        try:
            return [
                owned_name(resource.kind, item)
                async for page in pages
                for item in page.items
                if _is_owned(item, uid)
            ]
        except NotFound:  # its version may be served no longer
            self._discovery.forget(resource.gvk)
            raise


def _is_owned(item: JsonObject, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ())


# Orphaned owners: objects of a deleted component that keep creating its pods.
#
# If a user deletes a Deployment in the background or with orphaning, its ReplicaSet remains and
# creates pods with the AppWrapper's labels. The controller's foreground deletion leaves none.


class OrphanedOwners:
    """Lists orphaned owners live, by label."""

    def __init__(self, client: KubeClient, discovery: Discovery, unserved: UnservedKinds) -> None:
        self._client = client
        self._discovery = discovery
        self._unserved = unserved

    async def find(
        self, appwrapper: AppWrapper, components: Sequence[Component]
    ) -> tuple[tuple[Deployed, ...], tuple[str, ...]]:
        """Return the orphaned owners of components without an object, and failed lists as text.

        A failed list means that orphaned owners may exist. Raises KubeError.
        """
        found: dict[str, Deployed] = {}
        unproved: dict[str, None] = {}
        for index, each in enumerate(components):
            if each.name and not (each.uid or each.unreadable):
                kind = BY_GROUP_KIND.get(kind_of(appwrapper.component_statuses[index]).group_kind)
                for maker in () if kind is None else kind.makers:
                    value = appwrapper.uid if maker.label == LABEL_UID else each.name
                    selector = f"{maker.label}={value}"
                    try:
                        listed = await self._listed(appwrapper, maker.resource, selector, value)
                    except UnknownKind:
                        if obstacle := await self._unserved.obstacle(maker.resource.gvk):
                            unproved[f"{maker.resource.kind}: {obstacle}"] = None
                        continue
                    except ApiError as error:
                        if concerns_all(error):
                            raise
                        unproved[f"{maker.resource.plural} cannot be listed: {error}"] = None
                        continue
                    found |= {left.uid: left for left in listed}
        return tuple(found.values()), tuple(unproved)

    async def _listed(
        self, appwrapper: AppWrapper, maker: Resource, selector: str, value: str
    ) -> list[Deployed]:
        if not is_label_value(value):
            return []
        resource = await self._discovery.in_any_version(maker.gvk)
        pages = self._client.pages(resource, appwrapper.namespace, label_selector=selector)
        found: list[Deployed] = []
        try:
            async for page in pages:
                if not page.resource_version:
                    raise ApiError(200, "NotAList", f"no list of {resource.plural}")
                found += [
                    _deployed(resource, item, labels)
                    for item in page.items
                    if (labels := _labels_of_pods(item, appwrapper.uid)) is not None
                ]
        except NotFound:  # its version may be served no longer
            self._discovery.forget(resource.gvk)
            raise
        return found


def _deployed(resource: Resource, item: JsonObject, labels: JsonObject) -> Deployed:
    metadata = item["metadata"]
    name, uid, deleting = metadata["name"], metadata["uid"], "deletionTimestamp" in metadata
    return Deployed(resource, name, uid, deleting, attempt=labels.get(LABEL_ATTEMPT, ""))


def _labels_of_pods(item: JsonObject, uid: str) -> JsonObject | None:
    """Return the labels of the pods that it creates for the AppWrapper of that UID; None if none.

    Names are not unique over time.
    """
    spec = item.get("spec") or {}
    holders = [spec, spec.get("headGroupSpec") or {}, *(spec.get("workerGroupSpecs") or ())]
    for holder in holders:
        metadata = (holder.get("template") or {}).get("metadata") or {}
        labels: JsonObject = metadata.get("labels") or {}
        if labels.get(LABEL_UID) == uid:
            return labels
    return None


# The search for what blocks a long deletion, by live reads.

# Components read for one AppWrapper, and AppWrappers searched at once: if the garbage collector
# stops, every deletion in the cluster is blocked.
MOST_COMPONENTS: Final = 5
SEARCHES_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Findings:
    """The causes of a blocked deletion, as a decision needs them."""

    blockers: tuple[str, ...] = ()
    forced_off: tuple[str, ...] = ()
    empty: tuple[Deployed, ...] = ()
    silent_nodes: frozenset[str] = frozenset()
    stuck: Stuck = ()


class BlockerSearch:
    """Finds what blocks deletions; shared by all AppWrappers to limit concurrent searches."""

    def __init__(
        self,
        client: KubeClient,
        discovery: Discovery,
        unserved: UnservedKinds,
        deletions: Deletions,
    ) -> None:
        self._client = client
        self._unserved = unserved
        self._deletions = deletions
        self._dependants = DependantSearch(client, discovery, unserved)
        self._slots = asyncio.Semaphore(SEARCHES_AT_ONCE)

    async def look(
        self,
        reads: Reads,
        left: Sequence[Deployed],
        pods: Sequence[LeftPod],
        *,
        forcing: bool,
    ) -> Findings:
        """Explain a blocked deletion; live reads just found `left` and `pods`.

        Raises KubeError.
        """
        async with self._slots:
            nodes = await self._silent_nodes(pods, forcing=forcing)
            components = reads.components
            remaining = [*unread(components), *await self._unseen(reads)]
            unseen = {one.uid for one in components if one.unreadable}
            empty: list[Deployed] = []
            for each in [one for one in left if one.uid not in unseen][:MOST_COMPONENTS]:
                found = await self._component(reads, each, pods_left=bool(pods))
                if found is None:
                    continue
                remaining.append(found)
                # While pods remain, the controller forces the pods first.
                if found.deleting and not (pods or found.waits_for or found.unproved):
                    empty.append(each)
        return Findings(
            blockers(remaining, pods, nodes, _made(reads)),
            forced_off(pods, nodes) if forcing else (),
            tuple(empty) if forcing else (),
            frozenset(nodes),
            stuck_deletions(remaining, pods),
        )

    async def _silent_nodes(self, pods: Sequence[LeftPod], *, forcing: bool) -> Mapping[str, str]:
        return await silent_nodes(self._client, (pod.node for pod in pods if forcing or pod.due))

    async def _unseen(self, reads: Reads) -> list[LeftComponent]:
        """Return the components of unserved Kinds, which may still exist."""
        return [
            LeftComponent(
                name=each.name,
                kind=each.kind,
                obstacle=await self._unserved.obstacle(kind_of(recorded)),
            )
            for each, recorded in zip(
                reads.components, reads.appwrapper.component_statuses, strict=False
            )
            if each.presence is Presence.UNKNOWN and not each.unreadable
        ][:MOST_COMPONENTS]

    async def _component(
        self, reads: Reads, left: Deployed, *, pods_left: bool
    ) -> LeftComponent | None:
        """Read what blocks a component; None if it is gone."""
        namespace = reads.appwrapper.namespace
        try:
            item = await self._client.get(left.resource, namespace, left.name, metadata_only=True)
        except NotFound:
            return None
        metadata = item["metadata"]
        if metadata["uid"] != left.uid:
            return None
        deleting = "deletionTimestamp" in metadata
        waits_for: tuple[str, ...] = ()
        unproved: tuple[str, ...] = ()
        if deleting and not pods_left:
            owned = await self._dependants.of(left.resource, namespace, left.uid)
            waits_for, unproved = owned.names, owned.unproved
        return LeftComponent(
            name=left.name,
            kind=left.resource.kind,
            deleting=deleting,
            finalizers=finalizers_of(metadata),
            waits_for=waits_for,
            unproved=unproved,
            pods_left=pods_left,
            refused=self._deletions.refusal(reads.appwrapper.uid, left.uid),
        )


def unread(components: Sequence[Component]) -> list[LeftComponent]:
    """Return the components that cannot be read, so that no read shows what blocks them."""
    return [
        LeftComponent(name=each.name, kind=each.kind, unreadable=each.unreadable)
        for each in components
        if each.unreadable and each.exists
    ][:MOST_COMPONENTS]


def _made(reads: Reads) -> int:
    """Return the number of pods in all pod sets."""
    return sum(
        1 if (replicas := pod_set.get("replicas")) is None else replicas
        for recorded in reads.appwrapper.component_statuses
        for pod_set in recorded.get("podSets") or ()
    )
