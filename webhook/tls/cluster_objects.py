"""Read and write the certificates in the cluster: the Secret and the caBundles."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import (
    MUTATING_WEBHOOK_CONFIGURATIONS,
    SECRETS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    JsonObject,
    Resource,
)
from shared.kube.client import KubeClient, NotFound, PatchType
from webhook.tls.decisions import ca_bundle, secret_data
from webhook.tls.decisions.ca_bundle import ServiceName
from webhook.tls.decisions.secret_data import Contents
from webhook.tls.decisions.steps import Request

_log: Final = logging.getLogger(__name__)

# The replicas share the Secret. They read it live and never log its content. A write has the
# resourceVersion of the read: if several replicas write at once, one succeeds. The others receive a
# Conflict and read the new content.

_LONGEST_REQUEST_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Stored:
    """The Secret as read. `unknown_request` is the annotation's value if it is no Request."""

    contents: Contents
    request: Request | None
    unknown_request: str | None
    raw: JsonObject


class SecretStore:
    """Read and update the Secret `name` of `namespace`, and never create it."""

    def __init__(self, client: KubeClient, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    def __str__(self) -> str:
        return f"Secret {self._namespace}/{self._name}"

    async def read(self) -> Stored | None:
        """Return None if there is no such Secret. Raise KubeError."""
        try:
            raw = await self._client.get(SECRETS, self._namespace, self._name)
        except NotFound as error:
            if error.of_resource:
                raise
            return None
        asked = (raw["metadata"].get("annotations") or {}).get(ANNOTATION_ROTATE)
        try:
            request = None if asked is None else Request(asked)
            unknown = None
        except ValueError:
            request, unknown = None, str(asked)[:_LONGEST_REQUEST_SHOWN]
        return Stored(secret_data.parse(raw.get("data") or {}), request, unknown, raw)

    async def write(self, stored: Stored, contents: Contents, *, answered: bool) -> None:
        """Replace `stored` by `contents`, and remove an answered request.

        Foreign items of the Secret stay. Raise Conflict if another client has written it meanwhile.
        """
        raw = stored.raw
        foreign = {
            key: value
            for key, value in (raw.get("data") or {}).items()
            if key not in secret_data.KEYS
        }
        metadata = dict(raw["metadata"])
        if answered:
            annotations = dict(metadata.get("annotations") or {})
            annotations.pop(ANNOTATION_ROTATE, None)
            metadata["annotations"] = annotations
        body = {**raw, "metadata": metadata, "data": {**foreign, **secret_data.encode(contents)}}
        await self._client.update(SECRETS, self._namespace, self._name, body)


# The replicas keep their CAs in both webhook configurations and change nothing else there.
#
# A deleted configuration stays deleted, and a changed failurePolicy stays changed: admins use both
# while the webhook is broken.


@dataclass(frozen=True, slots=True)
class ConfigurationName:
    """A webhook configuration by kind and name."""

    resource: Resource
    name: str

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Configurations:
    """Both as read. `published` are this webhook's caBundles, `missing` the absent ones."""

    found: tuple[tuple[ConfigurationName, JsonObject], ...]
    missing: tuple[ConfigurationName, ...]
    published: tuple[bytes, ...]


class CaInjector:
    """Read and patch the entries of these configurations that lead to `service`."""

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
        """Read both live. Raise KubeError: a failed read is never a missing configuration."""
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
        """Write `bundle` where it differs. Try both, then raise the first KubeError."""
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
