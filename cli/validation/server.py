"""Validate manifests by the API server's dry run, under the user's own identity."""

from dataclasses import replace
from typing import Final

from cli.cluster.connection import Cluster
from cli.manifests.manifest import Manifest
from cli.validation.components import component_findings
from cli.validation.fields import corrected
from cli.validation.messages import ABOUT_CONTENT, REFUSALS, messages_of
from cli.validation.report import Validated, validated_as
from shared.api.objects import APPWRAPPERS, GroupVersionKind, JsonObject, Resource, metadata
from shared.kube import requests
from shared.kube.client import AlreadyExists, ApiError, Conflict
from shared.kube.discovery import UnknownKind

NOT_CHECKED: Final = (
    "whether Kueue will ever have the quota: `appwrapper explain` shows it once the workload waits",
)
_APPWRAPPER: Final = APPWRAPPERS.gvk.group_kind
_CREATED: Final = "it would be created"
# An object that runs may change between a read and its replacement.
_TRIES: Final = 5


async def validated_by_server(
    cluster: Cluster, manifest: Manifest, warnings: list[str], untried: list[str]
) -> Validated:
    """Validate one object, and what it wraps. Raises KubeError if the server gave no result.

    `warnings`: the list to which `cluster` adds the server's warnings. `untried` receives a line
    for components that the server could not validate.
    """
    warnings.clear()
    sound = corrected(manifest.value)
    note, errors, is_judged = None, list(sound.errors), manifest.group_kind == _APPWRAPPER
    try:
        note = await _dry_run(cluster, replace(manifest, value=sound.value), warnings)
    except UnknownKind as error:
        errors.append(str(error))
        is_judged = False
    except ApiError as error:
        if error.status not in REFUSALS:
            raise
        errors += messages_of(error)
        is_judged = is_judged and error.status in ABOUT_CONTENT
    heard = list(dict.fromkeys(warnings))
    if is_judged:
        where, is_new = _namespace(cluster, sound.value), bool(note and _CREATED in note)
        found = await component_findings(
            cluster, sound.value, where, warnings, known=errors, is_new=is_new
        )
        errors += found.errors
        heard += found.warnings
        untried += found.not_checked()
    return validated_as(manifest, errors, heard, note, written=sound.as_written)


async def _dry_run(cluster: Cluster, manifest: Manifest, warnings: list[str]) -> str:
    """Create the object, or replace the existing one. Return which. Nothing is stored."""
    body = manifest.value
    gvk = GroupVersionKind.of(str(body.get("apiVersion", "")), manifest.kind)
    resource = await cluster.discovery.resource_for(gvk)
    namespace = None
    if resource.namespaced:
        namespace = _namespace(cluster, body)
    where = f" in {namespace}" if namespace else ""
    create = requests.create(resource, namespace, body, dry_run=True, strict=True)
    try:
        await cluster.client.send(create)
    except AlreadyExists:
        await _replace(cluster, resource, namespace, body, warnings)
        return f"it would replace the one{where}" if namespace else "it would replace"
    return f"{_CREATED}{where}"


def _namespace(cluster: Cluster, body: JsonObject) -> str:
    return str(metadata(body).get("namespace") or cluster.namespace)


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
