"""Check whether objects of a Kind can exist although the API server serves no version of the Kind.

If no CRD defines the Kind, no object of it can exist: a CRD's objects are deleted before it. While
a CRD defines the Kind, the controller cannot be sure: the CRD may be changing. A read that fails
raises; so does discovery if an aggregated API server is away.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from controller.facts.component_status import kind_of
from controller.phases.snapshot import Component, Presence
from shared.api.appwrapper import AppWrapper
from shared.api.objects import GroupVersionKind, Resource
from shared.kube.client import Forbidden, KubeClient, NotFound
from shared.process.clock import Clock

CRDS: Final = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
# Seconds for which the answer "objects may exist" is cached, as many AppWrappers can have one Kind.
# The opposite answer is never cached.
REMEMBERED: Final = 5.0


class UnservedKinds:
    """Shared by all AppWrappers."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._obstacles: dict[GroupVersionKind, tuple[float, str]] = {}

    async def settle(
        self, appwrapper: AppWrapper, components: Sequence[Component]
    ) -> tuple[Component, ...]:
        """Set components of unknown presence to GONE if no object of their Kind can exist."""
        return tuple(
            [await self._settle(appwrapper, index, each) for index, each in enumerate(components)]
        )

    async def obstacle(self, gvk: GroupVersionKind) -> str:
        """Return why objects of an unserved Kind may exist; empty if none can exist.

        Raises KubeError, but not Forbidden: a forbidden read is a reason.
        """
        read_at, text = self._obstacles.pop(gvk, (0.0, ""))
        if not text or self._clock.monotonic() - read_at >= REMEMBERED:
            read_at, text = self._clock.monotonic(), await self._read(gvk)
        if text:
            self._obstacles[gvk] = read_at, text
        return text

    async def _settle(self, appwrapper: AppWrapper, index: int, component: Component) -> Component:
        if component.presence is not Presence.UNKNOWN or component.unreadable:
            return component
        if await self.obstacle(kind_of(appwrapper.component_statuses[index])):
            return component
        return replace(component, presence=Presence.GONE)

    async def _read(self, gvk: GroupVersionKind) -> str:
        pages = self._client.pages(CRDS, metadata_only=True)
        try:
            # A CRD is named PLURAL.GROUP. Only the metadata is listed: a CRD can have megabytes.
            names = [
                name
                async for page in pages
                for item in page.items
                if (name := item["metadata"]["name"]).partition(".")[2] == gvk.group
            ]
            for name in names:
                with suppress(NotFound):
                    definition = await self._client.get(CRDS, None, name)
                    if definition["spec"]["names"]["kind"] == gvk.kind:
                        return f"CustomResourceDefinition {name} exists"
        except Forbidden as error:
            return f"whether its CustomResourceDefinition exists cannot be read: {error.message}"
        return ""
