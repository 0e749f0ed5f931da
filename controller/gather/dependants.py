"""What a component owns, by a fresh list: for the proof that nothing is left of it.

Background deletion gives up the component before what it owns. So it is asked only for one of which
it is proved that it owns nothing any more that is a pod, or could make one.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.deletion_memory import Deletions
from controller.facts.blockers import (
    LeftComponent,
    LeftPod,
    blockers,
    finalizers_of,
    forced_off,
)
from controller.facts.components import Located
from controller.facts.observe import Deployed, GatherContext
from controller.gather.components import concerns_all
from controller.gather.unserved_kinds import UnservedKinds, recorded_kind
from controller.phases.snapshot import Presence
from shared.api.appwrapper import AppWrapper
from shared.api.names import LABEL_UID
from shared.api.objects import NODES, PODS, JsonObject, Resource, is_label_value
from shared.kinds.kind import CLAIMS, POD_GROUPS, SERVICES
from shared.kinds.pod import POD
from shared.kinds.scaled import REPLICA_SETS
from shared.kinds.table import BY_GROUP_KIND, KINDS
from shared.kube.client import ApiError, Forbidden, KubeClient, NotFound

# Nodes that cannot end their pods: gone, or without word for a while.
#
# Read live, by name: this is asked only where a deletion has run out of patience.

MOST_NODES: Final = 20
_TAINTS: Final = {
    "node.kubernetes.io/unreachable": "does not answer",
    "node.kubernetes.io/not-ready": "is not ready",
}


async def silent_nodes(client: KubeClient, names: Iterable[str]) -> Mapping[str, str]:
    """What is wrong with those of the nodes that are silent, as the end of a sentence.

    Looks at MOST_NODES of them at most. Raises KubeError, save where reading is forbidden.
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
    """`does not answer since …`; empty for a node that speaks."""
    taints = (node.get("spec") or {}).get("taints") or ()
    for key, said in _TAINTS.items():
        if silent := [each for each in taints if each.get("key") == key]:
            # Its two effects are two taints, which may come a second apart.
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


# Of a Kind without a record nobody knows what it makes: all that the controller may list.
_ANYTHING: Final = (
    PODS,
    REPLICA_SETS,
    *(each.resource for each in KINDS if each.pod_sets is not None and each is not POD),
    SERVICES,
    CLAIMS,
    POD_GROUPS,
)


def owned_by(group_kind: str) -> tuple[Resource, ...]:
    """What its controllers make of such an object."""
    kind = BY_GROUP_KIND.get(group_kind)
    return _ANYTHING if kind is None else kind.owns


@dataclass(frozen=True, slots=True)
class Dependants:
    """`names` are Kind and name of what was found, `unproved` what could not be listed, and why."""

    names: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()

    @property
    def are_gone(self) -> bool:
        """It is proved that there are none."""
        return not self.names and not self.unproved


class DependantSearch:
    """Lists metadata in the component's namespace, and nothing else."""

    def __init__(self, client: KubeClient, unserved: UnservedKinds) -> None:
        self._client = client
        self._unserved = unserved

    async def of(self, resource: Resource, namespace: str, uid: str) -> Dependants:
        """What the object of that UID owns. Raises KubeError, save where listing is forbidden."""
        names: list[str] = []
        unproved: list[str] = []
        for kind in owned_by(resource.gvk.group_kind):
            try:
                names += [f"{kind.kind} {name}" for name in await self._owned(kind, namespace, uid)]
            except Forbidden:
                unproved.append(f"{kind.plural} may not be listed")
            except NotFound:
                if obstacle := await self._unserved.obstacle(kind.gvk):
                    unproved.append(f"{kind.kind}: {obstacle}")
            except ApiError as error:
                if concerns_all(error):
                    raise
                unproved.append(f"{kind.plural} cannot be listed: {error}")
        return Dependants(tuple(names), tuple(unproved))

    async def _owned(self, kind: Resource, namespace: str, uid: str) -> list[str]:
        pages = self._client.pages(kind, namespace, metadata_only=True)
        return [
            item["metadata"]["name"]
            async for page in pages
            for item in page.items
            if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ())
        ]


# What is left between a component that is gone and pods that it may yet come to.
#
# Somebody may delete a Deployment in the background, or orphan what it owns: its ReplicaSet stays
# and goes on making pods that carry our labels. With foreground deletion, ours, nothing is ever
# left.


class LeftMakers:
    """Lists by label, live."""

    def __init__(self, client: KubeClient, unserved: UnservedKinds) -> None:
        self._client = client
        self._unserved = unserved

    async def find(
        self, appwrapper: AppWrapper, located: Sequence[Located]
    ) -> tuple[tuple[Deployed, ...], tuple[str, ...]]:
        """Of components without an object: what is left that makes their pods.

        And, for people, what could not be listed: then it is not proved that nothing is left.
        Raises KubeError.
        """
        found: dict[str, Deployed] = {}
        unproved: dict[str, None] = {}
        for index, each in enumerate(located):
            if each.facts is None and each.component.name and not each.component.unreadable:
                kind = BY_GROUP_KIND.get(recorded_kind(appwrapper, index).group_kind)
                for maker in () if kind is None else kind.makers:
                    name = each.component.name
                    value = appwrapper.uid if maker.label == LABEL_UID else name
                    selector = f"{maker.label}={value}"
                    try:
                        listed = await self._listed(appwrapper, maker.resource, selector, value)
                    except ApiError as error:
                        if concerns_all(error):
                            raise
                        unproved[f"{maker.resource.plural} cannot be listed: {error}"] = None
                        continue
                    found |= {left.uid: left for left in listed}
        return tuple(found.values()), tuple(unproved)

    async def _listed(
        self, appwrapper: AppWrapper, resource: Resource, selector: str, value: str
    ) -> list[Deployed]:
        if not is_label_value(value):
            return []
        pages = self._client.pages(resource, appwrapper.namespace, label_selector=selector)
        found: list[Deployed] = []
        try:
            async for page in pages:
                if not page.resource_version:
                    raise ApiError(200, "NotAList", f"no list of {resource.plural}")
                found += [
                    _deployed(resource, item)
                    for item in page.items
                    if appwrapper.uid in _labels_of_pods(item)
                ]
        except NotFound as error:
            if not error.of_resource or await self._unserved.obstacle(resource.gvk):
                raise
        return found


def _deployed(resource: Resource, item: JsonObject) -> Deployed:
    metadata = item["metadata"]
    return Deployed(resource, metadata["name"], metadata["uid"], "deletionTimestamp" in metadata)


def _labels_of_pods(item: JsonObject) -> Iterable[str]:
    """The UIDs of the AppWrappers whose pods it makes: another's may have the same name."""
    spec = item.get("spec") or {}
    holders = [spec, spec.get("headGroupSpec") or {}, *(spec.get("workerGroupSpecs") or ())]
    for holder in holders:
        labels = ((holder.get("template") or {}).get("metadata") or {}).get("labels") or {}
        if uid := labels.get(LABEL_UID):
            yield uid


# Finds out what is in the way of a deletion that takes long, by live reads.

# Components of one AppWrapper that are looked into at a time, and AppWrappers at once: a garbage
# collector that stands still holds up everything that is being deleted.
MOST_COMPONENTS: Final = 5
SEARCHES_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Findings:
    """What the decision needs to know of a deletion that does not come to its end."""

    blockers: tuple[str, ...] = ()
    forced_off: tuple[str, ...] = ()
    empty: tuple[Deployed, ...] = ()
    silent_nodes: frozenset[str] = frozenset()


class BlockerSearch:
    """One for all AppWrappers."""

    def __init__(self, client: KubeClient, unserved: UnservedKinds, deletions: Deletions) -> None:
        self._client = client
        self._unserved = unserved
        self._deletions = deletions
        self._dependants = DependantSearch(client, unserved)
        self._slots = asyncio.Semaphore(SEARCHES_AT_ONCE)

    async def look(
        self,
        context: GatherContext,
        located: Sequence[Located],
        left: Sequence[Deployed],
        pods: Sequence[LeftPod],
        *,
        forcing: bool,
    ) -> Findings:
        """`left` and `pods` are what live reads just found. Raises KubeError."""
        async with self._slots:
            nodes = await self._silent_nodes(pods, forcing=forcing)
            components = [*unread(located), *await self._unseen(context, located)]
            unseen = {one.facts.uid for one in located if one.component.unreadable and one.facts}
            empty: list[Deployed] = []
            for each in [one for one in left if one.uid not in unseen][:MOST_COMPONENTS]:
                found = await self._component(context, each, pods_left=bool(pods))
                if found is None:
                    continue
                components.append(found)
                # With pods about, forcing these comes first.
                if found.deleting and not (pods or found.waits_for or found.unproved):
                    empty.append(each)
        return Findings(
            blockers(components, pods, nodes, _made(context)),
            forced_off(pods, nodes) if forcing else (),
            tuple(empty) if forcing else (),
            frozenset(nodes),
        )

    async def _silent_nodes(self, pods: Sequence[LeftPod], *, forcing: bool) -> Mapping[str, str]:
        return await silent_nodes(self._client, (pod.node for pod in pods if forcing or pod.due))

    async def _unseen(
        self, context: GatherContext, located: Sequence[Located]
    ) -> list[LeftComponent]:
        """Components of Kinds that are not served, and that may be there all the same."""
        return [
            LeftComponent(
                name=each.component.name,
                kind=each.component.kind,
                obstacle=await self._unserved.obstacle(recorded_kind(context.appwrapper, index)),
            )
            for index, each in enumerate(located)
            if each.component.presence is Presence.UNKNOWN and not each.component.unreadable
        ][:MOST_COMPONENTS]

    async def _component(
        self, context: GatherContext, left: Deployed, *, pods_left: bool
    ) -> LeftComponent | None:
        """None: it went meanwhile."""
        namespace = context.appwrapper.namespace
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
            refused=self._deletions.refusal(context.appwrapper.uid, left.uid),
        )


def unread(located: Sequence[Located]) -> list[LeftComponent]:
    """Components that cannot be read, so that nobody knows what is in their way."""
    return [
        LeftComponent(
            name=each.component.name,
            kind=each.component.kind,
            unreadable=each.component.unreadable,
        )
        for each in located
        if each.component.unreadable and each.component.exists
    ][:MOST_COMPONENTS]


def _made(context: GatherContext) -> int:
    """As many pods as the pod sets say."""
    return sum(
        1 if (replicas := pod_set.get("replicas")) is None else replicas
        for recorded in context.appwrapper.component_statuses
        for pod_set in recorded.get("podSets") or ()
    )
