"""Defines a Kind in the API server for a while."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeClient, NotFound, PatchType, Propagation
from shared.process.clock import SystemClock
from tests.support.builders.certificates import self_signed
from tests.support.cluster.life import exists
from tests.support.cluster.resources import CRDS
from tests.support.patience import PATIENCE_SECONDS, comes_to

# An address without a listener.
_NOBODY = "https://127.0.0.1:1/"


def converted_by_nobody() -> JsonObject:
    """Builds a conversion between versions that always fails."""
    now = SystemClock().now()
    certificate, _ = self_signed(1, now - timedelta(hours=1), now + timedelta(days=1))
    called = {"url": _NOBODY, "caBundle": base64.b64encode(certificate).decode()}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": called}
    return {"strategy": "Webhook", "webhook": webhook}


async def set_conversion(client: KubeClient, resource: Resource, conversion: JsonObject) -> None:
    """Sets the conversion of a Kind that is `served`; the API server applies it a moment later."""
    definition = f"{resource.plural}.{resource.group}"
    patch = [{"op": "replace", "path": "/spec/conversion", "value": conversion}]
    await client.patch(CRDS, None, definition, patch, PatchType.JSON)


@asynccontextmanager
async def served(
    client: KubeClient,
    resource: Resource,
    *,
    stored_as: str = "",
    conversion: JsonObject | None = None,
) -> AsyncIterator[None]:
    """Makes the API server accept any object of the Kind, and list it among those that it serves.

    No controller acts on it.

    It serves and stores the version of `resource`, or stores another, which it serves as well.
    """
    definition = f"{resource.plural}.{resource.group}"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"kind": resource.kind, "plural": resource.plural}
    stored = stored_as or resource.version
    versions = [
        {
            "name": version,
            "served": True,
            "storage": version == stored,
            "schema": {"openAPIV3Schema": anything},
        }
        for version in dict.fromkeys((resource.version, stored))
    ]
    body: JsonObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": definition},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced",
            "versions": versions,
            "conversion": conversion or {"strategy": "None"},
        },
    }
    if resource.group.endswith(".k8s.io"):
        approval = {"api-approved.kubernetes.io": "unapproved, of a test"}
        body["metadata"]["annotations"] = approval
    await client.create(CRDS, None, body)

    async def established() -> bool:
        found = await client.get(CRDS, None, definition)
        conditions = found.get("status", {}).get("conditions") or []
        return any(
            each["type"] == "Established" and each["status"] == "True" for each in conditions
        )

    try:
        await comes_to(established, True)
        await comes_to(partial(_discovered, client, resource), True)
        yield
    finally:
        await undefined(client, definition)


async def _discovered(client: KubeClient, resource: Resource) -> bool:
    """The API server lists a Kind a moment after it is established."""
    try:
        found = await client.get_path(f"/apis/{resource.group}/{resource.version}")
    except NotFound:
        return False
    return resource.plural in [each["name"] for each in found["resources"]]


async def undefined(client: KubeClient, definition: str) -> None:
    """Deletes a definition if it exists; returns when the API server has finished.

    The API server deletes the objects first. It needs two minutes if the preceding change of the
    definition has closed the storage meanwhile ("storage is (re)initializing").
    """
    with suppress(NotFound):
        await client.delete(CRDS, None, definition, uid=None, propagation=Propagation.BACKGROUND)
    gone = partial(exists, client, CRDS, None, definition)
    await comes_to(gone, False, 2 * PATIENCE_SECONDS)
