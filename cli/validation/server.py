"""Validate manifests by the API server's dry run, under the user's own identity."""

import re
from collections.abc import Iterator
from typing import Final

from cli.cluster.connection import Cluster
from cli.manifests.manifest import Manifest
from cli.validation.report import Validated, validated_as
from shared.api.objects import GroupVersionKind, JsonObject, Resource, metadata
from shared.kube import requests
from shared.kube.client import AlreadyExists, ApiError, Conflict
from shared.kube.discovery import UnknownKind

NOT_CHECKED: Final = (
    "pods: the API server validates them in full when they are created",
    "whether Kueue will ever have the quota: `appwrapper explain` shows it once the workload waits",
)
# Statuses that reject the object. With any other (401, 429, 5xx) the server gave no result.
REFUSALS: Final = (400, 403, 404, 405, 409, 413, 422)
# An object that runs may change between a read and its replacement.
_TRIES: Final = 5
# The API server's message about a field that its strict decoder rejects.
_UNKNOWN_FIELD: Final = re.compile(r'(?:unknown|duplicate) field "(?P<path>[^"]+)"')


async def validated_by_server(
    cluster: Cluster, manifest: Manifest, warnings: list[str]
) -> Validated:
    """Validate one object. `warnings`: the list to which `cluster` adds the server's warnings.

    Raises KubeError if the server gave no result.
    """
    warnings.clear()
    note, errors = None, list[str]()
    try:
        note = await _dry_run(cluster, manifest, warnings)
    except UnknownKind as error:
        errors = [str(error)]
    except ApiError as error:
        if error.status not in REFUSALS:
            raise
        errors = list(messages_of(error))
    return validated_as(manifest, errors, list(dict.fromkeys(warnings)), note)


async def _dry_run(cluster: Cluster, manifest: Manifest, warnings: list[str]) -> str:
    """Create the object, or replace the existing one. Return which. Nothing is stored."""
    body = manifest.value
    gvk = GroupVersionKind.of(str(body.get("apiVersion", "")), manifest.kind)
    resource = await cluster.discovery.resource_for(gvk)
    namespace = None
    if resource.namespaced:
        namespace = metadata(body).get("namespace") or cluster.namespace
    where = f" in {namespace}" if namespace else ""
    create = requests.create(resource, namespace, body, dry_run=True, strict=True)
    try:
        await cluster.client.send(create)
    except AlreadyExists:
        await _replace(cluster, resource, namespace, body, warnings)
        return f"it would replace the one{where}" if namespace else "it would replace"
    return f"it would be created{where}"


async def _replace(
    cluster: Cluster,
    resource: Resource,
    namespace: str | None,
    body: JsonObject,
    warnings: list[str],
) -> None:
    name = str(metadata(body).get("name"))
    for left in reversed(range(_TRIES)):
        warnings.clear()  # of the creation, or the last try
        stored = await cluster.client.get(resource, namespace, name, metadata_only=True)
        # The API server rejects the update of a custom resource without a resourceVersion.
        own = {"resourceVersion": metadata(stored)["resourceVersion"], **metadata(body)}
        replacement = {**body, "metadata": own}
        try:
            await cluster.client.send(
                requests.update(resource, namespace, name, replacement, dry_run=True, strict=True)
            )
        except Conflict:
            # Another client wrote it meanwhile. A version in the manifest itself stays old.
            if not left or "resourceVersion" in metadata(body):
                raise
        else:
            return


def messages_of(error: ApiError) -> Iterator[str]:
    """Yield one error a field if the server names fields, else the whole message."""
    if error.causes:
        yield from map(str, error.causes)
        return
    message = error.whole_message or str(error)
    if found := _UNKNOWN_FIELD.search(message):
        yield f"{found['path']}: {message}"
    else:
        yield message
