"""Keeps our CAs in both webhook configurations, and touches nothing else there.

A configuration that somebody deleted stays deleted, and a failurePolicy that somebody changed stays
changed: both are how people get work done while the webhook is broken.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shared.api.objects import (
    MUTATING_WEBHOOK_CONFIGURATIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    JsonObject,
    Resource,
)
from shared.kube.client import KubeClient, NotFound, PatchType
from webhook.tls import ca_bundle
from webhook.tls.ca_bundle import ServiceName

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConfigurationName:
    """A webhook configuration by kind and name."""

    resource: Resource
    name: str

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Configurations:
    """Both as read. `published` are the caBundles of our entries, `missing` who does not exist."""

    found: tuple[tuple[ConfigurationName, JsonObject], ...]
    missing: tuple[ConfigurationName, ...]
    published: tuple[bytes, ...]


class BundleKeeper:
    """Reads and patches the configurations of these names, as far as they lead to `service`."""

    def __init__(
        self, client: KubeClient, *, mutating: str, validating: str, service: ServiceName
    ) -> None:
        self._client = client
        self._service = service
        self.names: Final = (
            ConfigurationName(MUTATING_WEBHOOK_CONFIGURATIONS, mutating),
            ConfigurationName(VALIDATING_WEBHOOK_CONFIGURATIONS, validating),
        )

    async def read(self) -> Configurations:
        """Both, live. Raises KubeError: a failed read is never a missing configuration."""
        read = await asyncio.gather(*(self._read(name) for name in self.names))
        both = tuple(zip(self.names, read, strict=True))
        found = tuple((name, raw) for name, raw in both if raw is not None)
        return Configurations(
            found,
            tuple(name for name, raw in both if raw is None),
            tuple(one for _, raw in found for one in ca_bundle.published(raw, self._service)),
        )

    async def publish(
        self, configurations: Sequence[tuple[ConfigurationName, JsonObject]], bundle: bytes
    ) -> None:
        """Writes `bundle` where it is not yet. Tries both before it raises the first KubeError."""
        outcomes = await asyncio.gather(
            *(self._patch(name, raw, bundle) for name, raw in configurations),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _read(self, name: ConfigurationName) -> JsonObject | None:
        try:
            return await self._client.get(name.resource, None, name.name)
        except NotFound as error:
            if error.of_resource:
                raise
            return None

    async def _patch(self, name: ConfigurationName, raw: JsonObject, bundle: bytes) -> None:
        operations = ca_bundle.patch(raw, self._service, bundle)
        if operations:
            await self._client.patch(name.resource, None, name.name, operations, PatchType.JSON)
            _log.info("wrote the caBundle of %s", name)
