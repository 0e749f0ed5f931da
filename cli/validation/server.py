"""Has the API server judge manifests by a dry run, under the user's own identity."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cli.cluster import Cluster
from cli.judging.findings import Finding
from cli.manifests.manifest import Manifest
from cli.validation.offline import located
from cli.validation.report import JudgedObject, Verdict
from shared.api.objects import GroupVersionKind, JsonObject, Resource, metadata
from shared.kube import requests
from shared.kube.client import AlreadyExists, ApiError
from shared.kube.discovery import UnknownKind

NOT_CHECKED: Final = (
    "pods: the API server validates them in full when they are created",
    "whether Kueue will ever have the quota: `appwrapper explain` shows it once the workload waits",
)
# The server's verdict on an object. Others (401, 429, 5xx) say that it could not judge.
_REFUSALS: Final = (400, 403, 404, 405, 409, 413, 422)
# How a strict decoder names fields.
_UNKNOWN_FIELD: Final = re.compile(r'(?:unknown|duplicate) field "(?P<path>[^"]+)"')


@dataclass(slots=True)
class ServerJudge:
    """Asks one server about one object after the other. `warnings` collects what it says beside."""

    cluster: Cluster
    warnings: list[str]

    async def judged(self, manifest: Manifest) -> tuple[JudgedObject, list[Finding]]:
        """One object. Raises KubeError where the server could not judge."""
        self.warnings.clear()
        outcome, note, errors = Verdict.VALID, None, list[str]()
        try:
            note = await self._dry_run(manifest)
        except UnknownKind as error:
            outcome, errors = Verdict.REFUSED, [str(error)]
        except ApiError as error:
            if error.status not in _REFUSALS:
                raise
            outcome, errors = Verdict.REFUSED, list(_errors(error))
        warnings = list(dict.fromkeys(self.warnings))
        line = manifest.place().line
        found = JudgedObject(manifest.source, line, manifest.kind, manifest.name, outcome, note)
        return found, located(manifest, errors, warnings)

    async def _dry_run(self, manifest: Manifest) -> str:
        """Create it, or replace what is there; says which. Nothing is stored."""
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
        self.warnings.clear()
        name = str(metadata(body).get("name"))
        stored = await self.cluster.client.get(resource, namespace, name, metadata_only=True)
        # Without a version no custom resource can be replaced.
        own = {"resourceVersion": metadata(stored)["resourceVersion"], **metadata(body)}
        request = requests.update(
            resource, namespace, name, {**body, "metadata": own}, dry_run=True, strict=True
        )
        await self.cluster.client.send(request)


def _errors(error: ApiError) -> Iterator[str]:
    """Field by field where the server says it so."""
    if error.causes:
        yield from map(str, error.causes)
        return
    message = error.whole_message or str(error)
    if found := _UNKNOWN_FIELD.search(message):
        yield f"{found['path']}: {message}"
    else:
        yield message
