"""Check whether objects of a Kind can exist although the API server serves no version of the Kind.

An unserved Kind proves nothing by itself: its CRD may be changing. If no CRD defines the Kind and
no other API server serves its group, no object of it can exist: a CRD's objects are deleted first.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from controller.facts.components import Located
from controller.facts.observe import kind_of
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
# Seconds for which the answer "objects may exist" is cached. The opposite answer is never cached.
REMEMBERED: Final = 5.0


class UnservedKinds:
    """Shared by all AppWrappers: many of one Kind cost the same reads as one."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._locks: dict[GroupVersionKind, asyncio.Lock] = {}
        self._obstacles: dict[GroupVersionKind, tuple[float, str]] = {}

    async def settle(
        self, appwrapper: AppWrapper, located: Sequence[Located]
    ) -> tuple[Located, ...]:
        """Set components of unknown presence to GONE if no object of their Kind can exist."""
        return tuple(
            [await self._settle(appwrapper, index, each) for index, each in enumerate(located)]
        )

    async def obstacle(self, gvk: GroupVersionKind) -> str:
        """Return why objects of an unserved Kind may exist; empty if none can exist.

        Raises KubeError, but not Forbidden: a forbidden read is a reason.
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
                # Users can name any number of Kinds, so the memory must not keep them.
                self._obstacles.pop(gvk, None)
                self._locks.pop(gvk, None)
            return text

    async def _settle(self, appwrapper: AppWrapper, index: int, located: Located) -> Located:
        if located.component.presence is not Presence.UNKNOWN or located.component.unreadable:
            return located
        if await self.obstacle(kind_of(appwrapper.component_statuses[index])):
            return located
        return replace(located, component=replace(located.component, presence=Presence.GONE))

    async def _look(self, gvk: GroupVersionKind) -> str:
        try:
            return await self._definition(gvk) or await self._other_server(gvk)
        except Forbidden as error:
            return f"whether its CustomResourceDefinition exists cannot be read: {error.message}"

    async def _definition(self, gvk: GroupVersionKind) -> str:
        """Report the state of the Kind's CRD; empty without a CRD."""
        pages = self._client.pages(CRDS, metadata_only=True)
        # A CRD is named PLURAL.GROUP. Only the metadata is listed: a CRD can have megabytes.
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
                return f"CustomResourceDefinition {name} {_state(definition)}"
        return ""

    async def _other_server(self, gvk: GroupVersionKind) -> str:
        """Report an APIService that assigns the group to another API server; empty without one.

        That API server may be unavailable although its objects exist.
        """
        pages = self._client.pages(API_SERVICES)
        for name in [
            item["metadata"]["name"]
            async for page in pages
            for item in page.items
            if (item["spec"].get("group") or "") == gvk.group and item["spec"].get("service")
        ]:
            return f"APIService {name} names an API server that does not serve the Kind"
        return ""


def _state(definition: JsonObject) -> str:
    """Return why a Kind with a CRD is not served, as the end of a sentence."""
    if "deletionTimestamp" in definition["metadata"]:
        return "is being deleted"
    if any(each["served"] for each in definition["spec"]["versions"]):
        return "is not served yet"
    return "serves no version"
