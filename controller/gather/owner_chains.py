"""Find the owners of pods that carry an AppWrapper's labels but are not owned by its components.

Any user may copy labels. A pod does not belong to the AppWrapper if live reads prove that its owner
chain ends elsewhere: the last owner is neither a component nor made by one. If an owner cannot be
read or is gone, nothing is proved and its pods count.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from controller.facts.components import Located
from controller.facts.observe import kind_of, membership_of
from controller.facts.pods import Pod
from controller.gather.component_watches import UNWATCHED
from controller.gather.dependants import owned_by
from controller.memory import Memory
from shared.api.appwrapper import AppWrapper
from shared.api.objects import GroupVersionKind, JsonObject, Owner, controller_of
from shared.kube.client import ApiError, Forbidden, KubeClient, KubeError, NotFound
from shared.kube.discovery import Discovery, UnknownKind

# The longest known chain is a LeaderWorkerSet's: StatefulSet, leader pod, StatefulSet, pod.
LONGEST_CHAIN: Final = 8
READ_AT_ONCE: Final = 8  # concurrent reads for one AppWrapper

_COUNTS: Final = ""  # the owner belongs to the AppWrapper, or nothing proves the opposite


class OwnerChains:
    """Reads the metadata of each owner live, and only once: an object's controller never changes.

    Pods that components own directly need no read.
    """

    def __init__(self, client: KubeClient, discovery: Discovery, memory: Memory) -> None:
        self._client = client
        self._discovery = discovery
        self._memory = memory

    async def elsewhere(
        self, appwrapper: AppWrapper, located: Sequence[Located], pods: Iterable[Pod]
    ) -> Mapping[str, str]:
        """Return the owners whose pods do not belong to the AppWrapper.

        Maps the UID of a pod's owner to Kind and name of the last owner in its chain.
        """
        membership = membership_of(appwrapper, located)
        strangers = membership.strangers(pods)
        if not strangers:
            return {}
        ours = {appwrapper.uid, *membership.uids, *self._memory.object_uids(appwrapper.uid)}
        owners = {
            pod.owner_uid: Owner(pod.owner_uid, pod.owner_kind, pod.owner_name, pod.owner_version)
            for pod in strangers
            if pod.owner_uid not in ours
        }
        known = self._memory.of(appwrapper.uid).owners
        made = {
            resource.gvk.group_kind
            for recorded in appwrapper.component_statuses
            for resource in owned_by(kind_of(recorded).group_kind)
        }
        slots = asyncio.Semaphore(READ_AT_ONCE)

        async def look(owner: Owner) -> None:
            async with slots:
                found = await self._end(appwrapper.namespace, owner, ours, made)
            if found is not None:
                known[owner.uid] = found

        await asyncio.gather(*(look(each) for uid, each in owners.items() if uid not in known))
        return {uid: found for uid in owners if (found := known.get(uid, _COUNTS))}

    async def _end(
        self, namespace: str, owner: Owner, ours: set[str], made: set[str]
    ) -> str | None:
        """Return Kind and name of the end of the chain, or _COUNTS; None: read it again later.

        `made` are the Kinds that components create. An orphaned object of such a Kind has no owner,
        so it counts although its chain ends there.
        """
        for _ in range(LONGEST_CHAIN):
            if owner.uid in ours:
                return _COUNTS
            try:
                item = await self._read(namespace, owner)
            except (UnknownKind, Forbidden, NotFound):
                return _COUNTS
            except ApiError as error:
                return _COUNTS if 400 <= error.status < 500 and error.status != 429 else None
            except KubeError:
                return None
            if item["metadata"]["uid"] != owner.uid:
                return _COUNTS  # the owner is gone, and another object has its name
            above = controller_of(item)
            if above is None:
                return _COUNTS if _kind_of(owner).group_kind in made else _words(owner)
            owner = above
        return _COUNTS

    async def _read(self, namespace: str, owner: Owner) -> JsonObject:
        resource = await self._discovery.in_any_version(_kind_of(owner))
        if not resource.namespaced or resource.gvk.group_kind in UNWATCHED:
            raise UnknownKind(resource.gvk, ": it creates no pods of an AppWrapper")
        return await self._client.get(resource, namespace, owner.name, metadata_only=True)


def _kind_of(owner: Owner) -> GroupVersionKind:
    return GroupVersionKind.of(owner.api_version, owner.kind)


def _words(owner: Owner) -> str:
    return f"{owner.kind} {owner.name}"
