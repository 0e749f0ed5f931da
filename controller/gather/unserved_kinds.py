"""Whether there can be objects of a Kind that the API server does not serve.

That a Kind is not served proves nothing by itself: its CRD may be changing. Where no CRD defines it
and no other API server has its group, there is nothing left that could hold an object.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from controller.facts.components import Located
from controller.phases.snapshot import Presence
from shared.api.appwrapper import AppWrapper
from shared.api.objects import GroupVersionKind, JsonObject, Resource
from shared.kube.client import Forbidden, KubeClient, NotFound
from shared.process.clock import Clock

CRDS: Final = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
API_SERVICES: Final = Resource(
    "apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False
)
# Seconds for which "there may be some" is believed. "There is nothing" is read anew each time.
REMEMBERED: Final = 5.0


class UnservedKinds:
    """One for all AppWrappers, so that many of one Kind cost no more than one."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._locks: dict[GroupVersionKind, asyncio.Lock] = {}
        self._obstacles: dict[GroupVersionKind, tuple[float, str]] = {}

    async def settle(
        self, appwrapper: AppWrapper, located: Sequence[Located]
    ) -> tuple[Located, ...]:
        """The same, where what nobody can see is gone if it is proved that it cannot exist."""
        return tuple(
            [await self._settle(appwrapper, index, each) for index, each in enumerate(located)]
        )

    async def obstacle(self, gvk: GroupVersionKind) -> str:
        """Why objects of a Kind that is not served may exist; empty: it is proved that none does.

        Raises KubeError, save where reading is forbidden: then it is not proved.
        """
        lock = self._locks.setdefault(gvk, asyncio.Lock())
        async with lock:
            read_at, text = self._obstacles.get(gvk, (0.0, ""))
            if text and self._clock.monotonic() - read_at < REMEMBERED:
                return text
            text = await self._look(gvk)
            if text:
                self._obstacles[gvk] = (self._clock.monotonic(), text)
            else:
                # Users name Kinds, and there is no end to what they can name.
                self._obstacles.pop(gvk, None)
                self._locks.pop(gvk, None)
            return text

    async def _settle(self, appwrapper: AppWrapper, index: int, located: Located) -> Located:
        if located.component.presence is not Presence.UNKNOWN or located.component.unreadable:
            return located
        if await self.obstacle(recorded_kind(appwrapper, index)):
            return located
        return replace(located, component=replace(located.component, presence=Presence.GONE))

    async def _look(self, gvk: GroupVersionKind) -> str:
        try:
            return (
                await self._definition(gvk)
                or await self._other_server(gvk)
                or await self._other_version(gvk)
            )
        except Forbidden as error:
            return f"whether its CustomResourceDefinition exists cannot be read: {error.message}"

    async def _definition(self, gvk: GroupVersionKind) -> str:
        """What its CRD, if there is one, is about."""
        pages = self._client.pages(CRDS, metadata_only=True)
        # Names are PLURAL.GROUP. Whole definitions can be megabytes each.
        names = [
            name
            async for page in pages
            for item in page.items
            if (name := item["metadata"]["name"]).partition(".")[2] == gvk.group
        ]
        for name in names:
            try:
                definition = await self._client.get(CRDS, None, name)
            except NotFound:
                continue
            if definition["spec"]["names"]["kind"] == gvk.kind:
                return f"CustomResourceDefinition {name} {_state(definition, gvk.version)}"
        return ""

    async def _other_server(self, gvk: GroupVersionKind) -> str:
        """An APIService leads the group to an API server of its own, which may be away."""
        pages = self._client.pages(API_SERVICES)
        for name in [
            item["metadata"]["name"]
            async for page in pages
            for item in page.items
            if (item["spec"].get("group") or "") == gvk.group and item["spec"].get("service")
        ]:
            return f"APIService {name} names an API server that does not serve the Kind"
        return ""

    async def _other_version(self, gvk: GroupVersionKind) -> str:
        """A built-in Kind may have moved to another version, and its objects with it."""
        try:
            group = await self._client.get_path(f"/apis/{gvk.group}" if gvk.group else "/api")
        except NotFound:
            return ""
        for version in _versions(group):
            prefix = f"/apis/{gvk.group}" if gvk.group else "/api"
            try:
                served = await self._client.get_path(f"{prefix}/{version}")
            except NotFound:
                continue
            if any(entry["kind"] == gvk.kind for entry in served.get("resources") or ()):
                return f"the API server serves it in version {version}"
        return ""


def recorded_kind(appwrapper: AppWrapper, index: int) -> GroupVersionKind:
    """The Kind of a component, as status has it."""
    recorded = appwrapper.component_statuses[index]
    return GroupVersionKind.of(recorded.get("apiVersion") or "", recorded.get("kind") or "")


def _state(definition: JsonObject, version: str) -> str:
    """Why a Kind with a CRD is not served, as the end of a sentence."""
    if "deletionTimestamp" in definition["metadata"]:
        return "is being deleted"
    served = [each["name"] for each in definition["spec"]["versions"] if each["served"]]
    if version not in served:
        return f"serves {', '.join(served)} only" if served else "serves no version"
    return "is not served yet"


def _versions(group: JsonObject) -> list[str]:
    """Of an APIGroup, or of the APIVersions of the core group."""
    return [
        each if isinstance(each, str) else str(each["version"])
        for each in group.get("versions") or ()
    ]
