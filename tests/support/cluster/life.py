"""Follows AppWrappers in a real cluster: the changes of each object, in etcd's order."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any, Self

from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource
from shared.kube.client import KubeClient, NotFound, WatchEvent, WatchEventType
from tests.support.builders.appwrappers import phase, true_conditions, version_of
from tests.support.cluster.changes import changes
from tests.support.life_record import phases
from tests.support.patience import PATIENCE_SECONDS


class Life:
    """`async with Life(client, "team1", "train") as life:` records one AppWrapper and its pods."""

    def __init__(self, client: KubeClient, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._tasks: list[asyncio.Task[None]] = []
        self._changed = asyncio.Event()
        self.events: list[WatchEvent] = []
        self.pod_events: list[WatchEvent] = []

    async def __aenter__(self) -> Self:
        for resource, events, selector in (
            (APPWRAPPERS, self.events, ""),
            (PODS, self.pod_events, f"{LABEL_APPWRAPPER}={self._name}"),
        ):
            version = ""
            async with aclosing(self._client.pages(resource, self._namespace)) as pages:
                async for page in pages:
                    version = page.resource_version
            watching = self._watch(resource, version, selector, events)
            self._tasks.append(asyncio.create_task(watching))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(
        self, resource: Resource, version: str, selector: str, events: list[WatchEvent]
    ) -> None:
        stream = changes(
            self._client,
            resource,
            self._namespace,
            resource_version=version,
            label_selector=selector,
        )
        async with aclosing(stream):
            async for event in stream:
                name = event.object["metadata"]["name"]
                if resource != APPWRAPPERS or name == self._name:
                    events.append(event)
                    self._changed.set()

    async def until(
        self,
        seen: Callable[[JsonObject], bool],
        what: str,
        seconds: float = PATIENCE_SECONDS,
    ) -> JsonObject:
        """Returns the first recorded state, past or future, for which `seen` is true."""
        looked_at = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    for event in self.events[looked_at:]:
                        looked_at += 1
                        if event.type is not WatchEventType.DELETED and seen(event.object):
                            return event.object
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"never saw {what}: {self.story()}") from None

    async def until_phase(
        self, wanted: str, *, after: int = 0, seconds: float = PATIENCE_SECONDS
    ) -> JsonObject:
        """Returns the first state in that phase with a resourceVersion above `after`."""
        return await self.until(
            lambda item: phase(item) == wanted and version_of(item) > after,
            f"phase {wanted}",
            seconds,
        )

    async def until_pod(self, seen: Callable[[JsonObject], bool], what: str) -> JsonObject:
        """Returns the first recorded state of a pod, past or future, for which `seen` is true."""
        looked_at = 0
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    for event in self.pod_events[looked_at:]:
                        looked_at += 1
                        if seen(event.object):
                            return event.object
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"never saw {what}: {self.story()}") from None

    async def until_deleted(self) -> None:
        """Waits until the AppWrapper is gone."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not any(event.type is WatchEventType.DELETED for event in self.events):
                self._changed.clear()
                await self._changed.wait()

    def story(self) -> list[str]:
        """Returns each recorded change of phase and true conditions, as text."""
        return [
            f"{event.type.value} {phase(event.object)} {sorted(true_conditions(event.object))}"
            for event in self.events
        ]

    def phases(self) -> list[str]:
        """Returns its phases in order, each once in a row."""
        return phases(self)

    async def check_the_promise_to_kueue(self) -> None:
        """Asserts that no status reported resources, or quota, as free while pods had them.

        resourceVersions are etcd's revisions. So events of both kinds can be put in one order, once
        both watches have reported all past changes.
        """
        await self.caught_up()
        events = sorted(
            [*self.events, *self.pod_events], key=lambda event: version_of(event.object)
        )
        pods: dict[str, JsonObject] = {}
        for event in events:
            uid = event.object["metadata"]["uid"]
            if event.object.get("kind") == "AppWrapper":
                self._check_one(event.object, list(pods.values()))
            elif event.type is WatchEventType.DELETED:
                pods.pop(uid, None)
            else:
                pods[uid] = event.object

    async def caught_up(self) -> None:
        """Waits until the watches have reported all that a live read shows.

        AppWrappers and pods come by two watches: the pods' may be later by some seconds.
        """
        for resource, events, selector in (
            (APPWRAPPERS, self.events, ""),
            (PODS, self.pod_events, f"{LABEL_APPWRAPPER}={self._name}"),
        ):
            live: dict[str, str] = {}
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while _versions(events) != (
                        live := await self._live_versions(resource, selector)
                    ):
                        self._changed.clear()
                        with suppress(TimeoutError):
                            async with asyncio.timeout(0.2):
                                await self._changed.wait()
            except TimeoutError:
                ended = [task for task in self._tasks if task.done()]
                raise AssertionError(
                    f"{resource.plural}: {_versions(events)} seen, {live} live; ended: {ended}"
                ) from None

    async def _live_versions(self, resource: Resource, selector: str) -> dict[str, str]:
        pages = self._client.pages(resource, self._namespace, label_selector=selector)
        async with aclosing(pages) as listing:
            found = [item["metadata"] async for page in listing for item in page.items]
        named = [each for each in found if resource == PODS or each["name"] == self._name]
        return {each["uid"]: each["resourceVersion"] for each in named}

    def _check_one(self, item: JsonObject, pods: list[JsonObject]) -> None:
        held = true_conditions(item)
        if "ResourcesDeployed" not in held:
            assert pods == [], self.story()
        if "QuotaReserved" not in held:
            phases = {pod["status"].get("phase") for pod in pods}
            assert phases <= {"Succeeded", "Failed"}, self.story()


def _versions(events: list[WatchEvent]) -> dict[str, str]:
    """Returns uid → resourceVersion of the existing objects, by the events."""
    there: dict[str, str] = {}
    for event in events:
        metadata = event.object["metadata"]
        if event.type is WatchEventType.DELETED:
            there.pop(metadata["uid"], None)
        else:
            there[metadata["uid"]] = metadata["resourceVersion"]
    return there


async def ends_well(client: KubeClient, namespace: str, name: str) -> JsonObject:
    """Waits for Succeeded in its first attempt, and returns the AppWrapper."""
    found: JsonObject = {}
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while phase(found) not in ("Succeeded", "Failed"):
                await asyncio.sleep(0.1)
                found = await client.get(APPWRAPPERS, namespace, name)
    except TimeoutError:
        raise AssertionError(f"never ended: {found.get('status')}") from None
    assert phase(found) == "Succeeded", found["status"]
    assert found["status"]["attempt"] == 1
    assert not found["status"].get("resettingCount")
    return found


async def exists(client: KubeClient, resource: Resource, namespace: str | None, name: str) -> bool:
    """True if there is an object of that name, live."""
    try:
        await client.get(resource, namespace, name, metadata_only=True)
    except NotFound:
        return False
    return True


async def listed(
    client: KubeClient, resource: Resource, namespace: str | None, label_selector: str = ""
) -> list[dict[str, Any]]:
    """Returns all objects, live."""
    pages = client.pages(resource, namespace, label_selector=label_selector)
    return [item async for page in pages for item in page.items]
