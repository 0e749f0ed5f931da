"""Validate manifests by the API server's dry run, under the user's own identity."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cli.cluster.connection import Cluster
from cli.manifests.manifest import Manifest
from cli.validation.report import ManifestFinding, ValidatedObject, Validity, findings_in
from shared.api.objects import GroupVersionKind, JsonObject, Resource, metadata
from shared.kube import requests
from shared.kube.client import AlreadyExists, ApiError, Conflict
from shared.kube.discovery import UnknownKind

NOT_CHECKED: Final = (
    "pods: the API server validates them in full when they are created",
    "whether Kueue will ever have the quota: `appwrapper explain` shows it once the workload waits",
)
# Statuses that reject the object. With any other (401, 429, 5xx) the server gave no result.
_REFUSALS: Final = (400, 403, 404, 405, 409, 413, 422)
# An object that runs may change between a read and its replacement.
_TRIES: Final = 5
# The API server's message about a field that its strict decoder rejects.
_UNKNOWN_FIELD: Final = re.compile(r'(?:unknown|duplicate) field "(?P<path>[^"]+)"')


@dataclass(slots=True)
class ServerJudge:
    """Sends one object after the other. `warnings`: the list to which `cluster` adds warnings."""

    cluster: Cluster
    warnings: list[str]

    async def judged(self, manifest: Manifest) -> tuple[ValidatedObject, list[ManifestFinding]]:
        """Validate one object. Raises KubeError if the server gave no result."""
        self.warnings.clear()
        outcome, note, errors = Validity.VALID, None, list[str]()
        try:
            note = await self._dry_run(manifest)
        except UnknownKind as error:
            outcome, errors = Validity.REFUSED, [str(error)]
        except ApiError as error:
            if error.status not in _REFUSALS:
                raise
            outcome, errors = Validity.REFUSED, list(_errors(error))
        warnings = list(dict.fromkeys(self.warnings))
        found = findings_in(manifest, errors, warnings)
        return ValidatedObject.of(manifest, outcome, note), found

    async def _dry_run(self, manifest: Manifest) -> str:
        """Create the object, or replace the existing one. Return which. Nothing is stored."""
        body = manifest.value
        gvk = GroupVersionKind.of(str(body.get("apiVersion", "")), manifest.kind)
        resource = await self.cluster.discovery.resource_for(gvk)
        own = metadata(body).get("namespace")
        namespace = (own or self.cluster.namespace) if resource.namespaced else None
        client = self.cluster.client
        try:
            await client.send(requests.create(resource, namespace, body, dry_run=True, strict=True))
        except AlreadyExists:
            await self._replace(resource, namespace, body)
            return f"it would replace the one in {namespace}" if namespace else "it would replace"
        return f"it would be created in {namespace}" if namespace else "it would be created"

    async def _replace(self, resource: Resource, namespace: str | None, body: JsonObject) -> None:
        name = str(metadata(body).get("name"))
        for left in reversed(range(_TRIES)):
            self.warnings.clear()
            stored = await self.cluster.client.get(resource, namespace, name, metadata_only=True)
            # The API server rejects the update of a custom resource without a resourceVersion.
            own = {"resourceVersion": metadata(stored)["resourceVersion"], **metadata(body)}
            request = requests.update(
                resource, namespace, name, {**body, "metadata": own}, dry_run=True, strict=True
            )
            try:
                await self.cluster.client.send(request)
            except Conflict:
                # Another client wrote it meanwhile. A version in the manifest itself stays old.
                if not left or "resourceVersion" in metadata(body):
                    raise
            else:
                return


def _errors(error: ApiError) -> Iterator[str]:
    """Yield one error a field if the server names fields, else the whole message."""
    if error.causes:
        yield from map(str, error.causes)
        return
    message = error.whole_message or str(error)
    if found := _UNKNOWN_FIELD.search(message):
        yield f"{found['path']}: {message}"
    else:
        yield message
