"""Applies a set of objects with server-side apply, in an order that works."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import yaml

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.slowness import stretched
from localcluster.machine.waiting import still_missing
from shared.api.conditions import is_true
from shared.api.objects import GroupVersionKind, JsonObject, Resource
from shared.kube.client import ApiError, KubeClient, PatchType, Unreachable
from shared.kube.discovery import Discovery, UnknownKind
from shared.process.clock import SystemClock

_Answer = TypeVar("_Answer")
FIELD_MANAGER = "localcluster"
_CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False
)
# When four clusters start at once on two cores, an API server takes a minute to serve a CRD.
_PATIENCE_SECONDS = stretched(180.0)
_RETRY_SECONDS = 0.1
_AT_ONCE = 16
_LATE_WEBHOOK = re.compile(r"failed calling webhook .*(deadline exceeded|Client\.Timeout)")
_FIRST = ("Namespace", "CustomResourceDefinition", "PriorityClass")


def read_documents(*paths: Path) -> list[JsonObject]:
    """Returns the non-empty objects of YAML files, and of the *.yaml files of folders, in order.

    Raises LocalClusterError for a file that is missing or not YAML; the message names it.
    """
    documents: list[JsonObject] = []
    for path in paths:
        files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        for file in files:
            try:
                documents += [each for each in yaml.load_all(file.read_bytes(), _LOADER) if each]
            except (OSError, yaml.YAMLError) as failure:
                raise LocalClusterError(f"Cannot read the manifest {file}: {failure}") from failure
    return documents


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # large CRDs: ten times faster


class ManifestApplier:
    """Applies objects through one client."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._discovery = Discovery(client, SystemClock(), negative_seconds=0)
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def apply(self, documents: Sequence[JsonObject]) -> list[JsonObject]:
        """Applies all and returns them as stored, in the order given.

        Applies Namespaces, CRDs and PriorityClasses first, then the others at once. Waits until
        each CRD is served, and up to 180 s for an unknown Kind. Raises LocalClusterError if an
        object is refused; the message names it.
        """
        stored: dict[int, JsonObject] = {}
        rank = {kind: position for position, kind in enumerate(_FIRST)}
        waves: dict[int, list[int]] = {}
        for index, document in enumerate(documents):
            waves.setdefault(rank.get(document["kind"], len(_FIRST)), []).append(index)
        for _, wave in sorted(waves.items()):
            results = await asyncio.gather(*(self._apply_one(documents[index]) for index in wave))
            stored.update(zip(wave, results, strict=True))
        return [stored[index] for index in range(len(documents))]

    async def resource_of(self, gvk: GroupVersionKind) -> Resource:
        """Returns the resource of a Kind; waits until it is served. Raises LocalClusterError."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return await _answered(lambda: self._discovery.resource_for(gvk))
            except UnknownKind as unknown:
                if time.monotonic() > deadline:
                    raise LocalClusterError(
                        f"The API server does not know {gvk.api_version} {gvk.kind}, even after"
                        f" {_PATIENCE_SECONDS:.0f} s. Is its CRD applied?"
                    ) from unknown
            await asyncio.sleep(_RETRY_SECONDS)

    async def _apply_one(self, document: JsonObject) -> JsonObject:
        gvk = GroupVersionKind.of(document["apiVersion"], document["kind"])
        metadata = document["metadata"]
        name = metadata["name"]
        resource = await self.resource_of(gvk)
        namespace = metadata.get("namespace", "default") if resource.namespaced else None
        async with self._slots:
            try:
                stored = await _answered(
                    lambda: self._client.patch(
                        resource,
                        namespace,
                        name,
                        document,
                        PatchType.APPLY,
                        field_manager=FIELD_MANAGER,
                        force=True,
                    )
                )
            except ApiError as refusal:
                where = f"{namespace}/{name}" if namespace else name
                raise LocalClusterError(
                    f"The API server refused {gvk.kind} {where}: {refusal}"
                ) from refusal
        if resource.kind == _CRDS.kind and resource.group == _CRDS.group:
            await self._until_established(name)
        return stored

    async def _until_established(self, name: str) -> None:
        async def ask() -> str | None:
            definition = await _answered(lambda: self._client.get(_CRDS, None, name))
            status = definition.get("status", {})
            # Null, not absent, until the server has processed the definition.
            established = is_true(status.get("conditions") or (), "Established")
            return None if established else str(status)

        missing = await still_missing(ask, _PATIENCE_SECONDS, pause=_RETRY_SECONDS)
        if missing is not None:
            raise LocalClusterError(f"The API server does not serve the CRD {name}: {missing}")


async def _answered(request: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Sends a read or an apply again if no answer came, or none of a webhook."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return await request()
        except (Unreachable, ApiError) as failure:
            if not _may_pass(failure) or time.monotonic() > deadline:
                raise
            await asyncio.sleep(_RETRY_SECONDS)


def _may_pass(failure: Unreachable | ApiError) -> bool:
    """True for a failure of a busy machine: the API server gives a webhook ten seconds."""
    return isinstance(failure, Unreachable) or (
        failure.status == 500 and _LATE_WEBHOOK.search(failure.message) is not None
    )
