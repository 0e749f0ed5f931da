"""List live what a component owns: for the proof that all of it is gone.

A background deletion removes a component before the objects that it owns. So the controller sends
one only if a list proves that the component owns no pods and nothing that could create pods.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from controller.facts.component_status import kind_of, pods_in
from controller.facts.deployed import DeployedObject
from controller.facts.observe import Reads
from controller.facts.stuck_deletions import stuck_deletions
from controller.gather.component_reads import concerns_all
from controller.gather.unserved_kinds import UnservedKinds
from controller.memory.deletions import Deletions, Explanation
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

T = TypeVar("T")

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
    for key, state in _TAINTS.items():
        if silent := [each for each in taints if each.get("key") == key]:
            # The taint exists with two effects, which may be added a second apart.
            times = (each.get("timeAdded") for each in silent)
            return _since(state, min((each for each in times if isinstance(each, str)), default=""))
    for each in (node.get("status") or {}).get("conditions") or ():
        if each.get("type") == "Ready" and each.get("status") != "True":
            silent = each.get("status") == "Unknown"
            state = "does not answer" if silent else "is not ready"
            return _since(state, each.get("lastTransitionTime"))
    return ""


def _since(state: str, time: object) -> str:
    return f"{state} since {time}" if isinstance(time, str) and time else state


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


# Returns the part of an object that a list keeps; None if it keeps nothing.
_Kept = Callable[[Resource, JsonObject], T | None]


class LiveLists:
    """Lists objects of a Kind, in the version that is served."""

    def __init__(self, client: KubeClient, discovery: Discovery, unserved: UnservedKinds) -> None:
        self._client = client
        self._discovery = discovery
        self._unserved = unserved

    async def read(
        self,
        kind: Resource,
        namespace: str,
        kept: _Kept[T],
        unproved: dict[str, None],
        **asked: Any,
    ) -> list[T]:
        """Return what `kept` returns for each object.

        If the list fails, objects may exist: the reason is added to `unproved`. `asked`: parameters
        of the list. Raises KubeError if other requests would fail, too.
        """
        try:
            resource = await self._discovery.in_any_version(kind.gvk)
            return await self._read(resource, namespace, kept, **asked)
        except UnknownKind:
            if obstacle := await self._unserved.obstacle(kind.gvk):
                unproved[f"{kind.kind}: {obstacle}"] = None
        except ApiError as error:
            if concerns_all(error):
                raise
            unproved[f"{kind.plural} cannot be listed: {error}"] = None
        return []

    async def _read(
        self, resource: Resource, namespace: str, kept: _Kept[T], **asked: Any
    ) -> list[T]:
        found: list[T] = []
        try:
            async for page in self._client.pages(resource, namespace, **asked):
                found += [each for item in page.items if (each := kept(resource, item)) is not None]
        except NotFound:  # its version may be served no longer
            self._discovery.forget(resource.gvk)
            raise
        return found


async def dependants(
    lists: LiveLists, group_kind: str, namespace: str, uid: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return Kind and name of each object that the object of that UID owns, and failed lists.

    Lists whole Jobs, all others by metadata.
    """

    def named(kind: Resource, item: JsonObject) -> str | None:
        return owned_name(kind.kind, item) if _is_owned(item, uid) else None

    names: list[str] = []
    unproved: dict[str, None] = {}
    for kind in owned_by(group_kind):
        metadata_only = kind.gvk.group_kind != JOBS.gvk.group_kind
        names += await lists.read(kind, namespace, named, unproved, metadata_only=metadata_only)
    return tuple(names), tuple(unproved)


def _is_owned(item: JsonObject, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ())


# Orphaned owners: objects of a deleted component that keep creating its pods.
#
# If a user deletes a Deployment in the background or with orphaning, its ReplicaSet remains and
# creates pods with the AppWrapper's labels. The controller's foreground deletion leaves none.


async def orphaned_owners(
    lists: LiveLists, appwrapper: AppWrapper, components: Sequence[Component]
) -> tuple[tuple[DeployedObject, ...], tuple[str, ...]]:
    """Return the orphaned owners of components without an object, and failed lists as text.

    A failed list means that orphaned owners may exist. Raises KubeError.
    """

    def kept(resource: Resource, item: JsonObject) -> DeployedObject | None:
        if (labels := _labels_of_pods(item, appwrapper.uid)) is None:
            return None
        metadata = item["metadata"]
        name, uid, deleting = metadata["name"], metadata["uid"], "deletionTimestamp" in metadata
        return DeployedObject(resource, name, uid, deleting, attempt=labels.get(LABEL_ATTEMPT, ""))

    found: dict[str, DeployedObject] = {}
    unproved: dict[str, None] = {}
    for index, each in enumerate(components):
        if each.name and not (each.uid or each.unreadable):
            kind = BY_GROUP_KIND.get(kind_of(appwrapper.component_statuses[index]).group_kind)
            for maker in () if kind is None else kind.makers:
                value = appwrapper.uid if maker.label == LABEL_UID else each.name
                if is_label_value(value):
                    selector = f"{maker.label}={value}"
                    listed = await lists.read(
                        maker.resource,
                        appwrapper.namespace,
                        kept,
                        unproved,
                        label_selector=selector,
                    )
                    found |= {left.uid: left for left in listed}
    return tuple(found.values()), tuple(unproved)


def _labels_of_pods(item: JsonObject, uid: str) -> JsonObject | None:
    """Return the labels of the pods that it creates for the AppWrapper of that UID; None if none.

    Names are not unique over time.
    """
    spec = item.get("spec") or {}
    jobs = (each["template"]["spec"] for each in spec.get("replicatedJobs") or ())
    holders = [spec, spec.get("headGroupSpec") or {}, *(spec.get("workerGroupSpecs") or ()), *jobs]
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


class BlockerSearch:
    """Finds what blocks deletions; shared by all AppWrappers to limit concurrent searches."""

    def __init__(
        self,
        client: KubeClient,
        lists: LiveLists,
        unserved: UnservedKinds,
        deletions: Deletions,
    ) -> None:
        self._client = client
        self._unserved = unserved
        self._deletions = deletions
        self._lists = lists
        self._slots = asyncio.Semaphore(SEARCHES_AT_ONCE)

    async def explain(
        self,
        reads: Reads,
        left: Sequence[DeployedObject],
        pods: Sequence[LeftPod],
        *,
        forcing: bool,
    ) -> tuple[Explanation, tuple[DeployedObject, ...]]:
        """Explain a blocked deletion; live reads just found `left` and `pods`.

        If it is forced, also return the terminating components that own nothing. That proves
        something only in this pass. Raises KubeError.
        """
        async with self._slots:
            overdue = (pod.node for pod in pods if forcing or pod.due)
            nodes = await silent_nodes(self._client, overdue)
            components = reads.components
            remaining = [*unread(components), *await self._unseen(reads)]
            unseen = {one.uid for one in components if one.unreadable}
            empty: list[DeployedObject] = []
            for each in [one for one in left if one.uid not in unseen][:MOST_COMPONENTS]:
                found = await self._component(reads, each, pods_left=bool(pods))
                if found is None:
                    continue
                remaining.append(found)
                # While pods remain, the controller forces the pods first.
                if found.deleting and not (pods or found.waits_for or found.unproved):
                    empty.append(each)
        made = sum(map(pods_in, reads.appwrapper.component_statuses))
        explanation = Explanation(
            reads.now,
            forcing,
            blockers(remaining, pods, nodes, made),
            forced_off(pods, nodes) if forcing else (),
            frozenset(nodes),
            stuck_deletions(remaining, pods),
        )
        return explanation, tuple(empty) if forcing else ()

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
        self, reads: Reads, left: DeployedObject, *, pods_left: bool
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
            group_kind = left.resource.gvk.group_kind
            owner = group_kind, namespace, left.uid
            waits_for, unproved = await dependants(self._lists, *owner)
        return LeftComponent(
            name=left.name,
            kind=left.resource.kind,
            deleting=deleting,
            finalizers=finalizers_of(metadata),
            waits_for=waits_for,
            unproved=unproved,
            pods_left=pods_left,
            refused=self._deletions.known(reads.appwrapper.uid).refused.get(left.uid, ""),
        )


def unread(components: Sequence[Component]) -> list[LeftComponent]:
    """Return the components that cannot be read, so that no read shows what blocks them."""
    return [
        LeftComponent(name=each.name, kind=each.kind, unreadable=each.unreadable)
        for each in components
        if each.unreadable and each.exists
    ][:MOST_COMPONENTS]
