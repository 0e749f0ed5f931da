"""Records every write to some resources of a cluster, to replay it later without the cluster.

The first state of each object is whole; each later one is the JSON merge patch from the state
before, so that a person reads what changed.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from tests.support.observer.change import Change
from tests.support.observer.kubeconfig import read_access
from tests.support.observer.watching import Watch, Watched

_NAMESPACED: Final = (
    ("/api/v1", "pods"),
    ("/apis/batch/v1", "jobs"),
    ("/apis/workload.codeflare.dev/v1beta2", "appwrappers"),
)
_NODES: Final = Watched("nodes", "/api/v1/nodes")
# Of a node only these changes are recorded: the others are heartbeats.
_OF_NODES: Final = ("metadata.labels", "metadata.deletionTimestamp", "spec")


class Recording:
    """`async with Recording(kubeconfig, namespace) as recording:` ... `await recording.life(...)`.

    A test notes what it deletes itself by `act`: the API server does not tell who deletes.
    """

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._access = read_access(kubeconfig)
        self._namespace = namespace
        self._changes: list[tuple[float, Change]] = []
        self._acts: list[str] = []
        self._watches: list[Watch] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            self._access.server,
            connector=aiohttp.TCPConnector(ssl=self._access.trust),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=60.0),
        )
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        here = [
            Watched(plural, f"{root}/namespaces/{self._namespace}/{plural}")
            for root, plural in _NAMESPACED
        ]
        for watched in (*here, _NODES):
            watch = Watch(self._http, watched, self._note)
            await watch.begin()
            self._watches.append(watch)
        self._first = len(self._changes)
        self._tasks = [asyncio.create_task(each.run()) for each in self._watches]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._http.close()
        await asyncio.sleep(0.25)  # aiohttp only begins to close TLS connections

    def act(self, item: dict[str, Any]) -> None:
        """Note that the caller deletes this object."""
        self._acts.append(str(item["metadata"]["uid"]))

    async def life(self, about: str) -> dict[str, Any]:
        """Return all that was recorded until now, as JSON."""
        for watch in self._watches:
            await watch.fence()
        first = [change for _, change in self._changes[: self._first]]
        known = {change.uid: change.item for change in first}
        objects = [
            {"resource": change.resource, "object": _stripped(change.item)} for change in first
        ]
        writes = list(self._writes(known))
        return {"about": about, "acts": self._acts, "objects": objects, "writes": writes}

    def _note(self, change: Change) -> None:
        self._changes.append((self._clock() - self._began, change))

    def _writes(self, known: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the writes in etcd's order, as patches of the states that `known` holds."""
        later = self._changes[self._first :]
        used = {
            (change.item.get("spec") or {}).get("nodeName")
            for _, change in self._changes
            if change.resource == "pods"
        }
        for at, change in sorted(later, key=lambda each: each[1].revision):
            before, now = known.get(change.uid), change.item
            # Other tests have nodes of their own in the same cluster.
            if change.resource == "nodes" and (
                now["metadata"]["name"] not in used
                or (before is not None and _is_heartbeat(before, now))
            ):
                continue
            old, new = _stripped(before or {}), _stripped(now)
            kind = "DELETED" if change.deleted else "MODIFIED" if before else "ADDED"
            yield {
                "at": round(at, 3),
                "revision": change.revision,
                "type": kind,
                "resource": change.resource,
                "name": now["metadata"]["name"],
                "uid": change.uid,
                "writers": writers(before or {}, now),
                "patch": merge_patch(old, new),
            }
            known[change.uid] = now


def writers(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the field managers whose entries are new. A deletion changes none."""
    old = [_manager(each) for each in before.get("metadata", {}).get("managedFields") or ()]
    new = [_manager(each) for each in now["metadata"].get("managedFields") or ()]
    return sorted({each[0] for each in new if each not in old})


def _manager(entry: dict[str, Any]) -> tuple[str, str, str, str]:
    where = entry.get("subresource") or ""
    return entry["manager"], where, entry.get("time") or "", str(entry.get("fieldsV1"))


def _stripped(item: dict[str, Any]) -> dict[str, Any]:
    """Return the object without its largest parts: the notes of its writers, a node's machine."""
    if not item:
        return {}
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    found = {**item, "metadata": metadata}
    if "allocatable" in (item.get("status") or {}):
        found["status"] = _node_status(item["status"])
    return found


def _node_status(status: dict[str, Any]) -> dict[str, Any]:
    """Return what a node has and whether it is ready, without its machine's description."""
    ready = [each for each in status.get("conditions") or () if each["type"] == "Ready"]
    return {"allocatable": status["allocatable"], "conditions": ready}


def _is_heartbeat(before: dict[str, Any], now: dict[str, Any]) -> bool:
    return all(_at(before, path) == _at(now, path) for path in _OF_NODES) and (
        _ready(before) == _ready(now)
    )


def _at(item: dict[str, Any], path: str) -> Any:
    found: Any = item
    for each in path.split("."):
        found = (found or {}).get(each)
    return found


def _ready(node: dict[str, Any]) -> list[str]:
    conditions = _at(node, "status.conditions") or ()
    return [each["status"] for each in conditions if each["type"] == "Ready"]


def merge_patch(old: Any, new: Any) -> Any:
    """Return the JSON merge patch (RFC 7386) that makes `new` of `old`."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old or old[key] != value:
            patch[key] = merge_patch(old.get(key), value)
    return patch


def patched(old: Any, patch: Any) -> Any:
    """Return the object that a merge patch makes of `old`; both stay unchanged."""
    if not isinstance(patch, dict):
        return patch
    found = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = patched(found.get(key), value)
    return found
