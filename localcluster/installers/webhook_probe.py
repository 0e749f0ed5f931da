"""Asks through the API server whether an admission webhook answers: a dry-run create."""

from localcluster.machine.processes import Probe
from shared.api.json import JsonObject
from shared.api.resource import Resource
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExists, Forbidden, Invalid, KubeError


def admits(client: KubeClient, resource: Resource, document: JsonObject) -> Probe:
    """Ready when a dry-run create of `document` is judged, whatever the judgement."""

    async def ask() -> str | None:
        namespace = document["metadata"].get("namespace")
        try:
            await client.create(resource, namespace, document, dry_run=True)
        except (AlreadyExists, Invalid, Forbidden):
            return None
        except KubeError as failure:
            return f"a dry-run create of a {resource.kind} fails: {failure}"
        return None

    return ask


def both(first: Probe, second: Probe) -> Probe:
    """Ready when both are; the second is asked only once the first is."""

    async def ask() -> str | None:
        return await first() or await second()

    return ask
