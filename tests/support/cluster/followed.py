"""Follows one AppWrapper from its creation to its deletion, and reads its conditions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from shared.api.conditions import condition
from shared.api.objects import APPWRAPPERS, EVENTS, JsonObject
from shared.kube.client import KubeClient, NotFound, Propagation
from tests.support.builders.appwrappers import version_of
from tests.support.cluster.life import Life, listed


@asynccontextmanager
async def followed(client: KubeClient, namespace: str, body: JsonObject) -> AsyncIterator[Life]:
    """Creates and follows it, deletes it in the end, and waits until it is gone."""
    name = body["metadata"]["name"]
    async with Life(client, namespace, name) as life:
        await client.create(APPWRAPPERS, namespace, body)
        try:
            yield life
        finally:
            with suppress(NotFound):
                await client.delete(
                    APPWRAPPERS, namespace, name, uid=None, propagation=Propagation.BACKGROUND
                )
            await life.until_deleted()


def reported(item: JsonObject, kind: str) -> tuple[str, str, str]:
    """Returns status, reason and message of the condition of that type."""
    found = condition(item["status"]["conditions"], kind)
    assert found is not None, item["status"]["conditions"]
    return found["status"], found["reason"], found["message"]


async def until_reported(life: Life, kind: str, reason: str, *, after: int = 0) -> JsonObject:
    """Waits for the first state above that resourceVersion whose condition has that reason."""

    def seen(item: JsonObject) -> bool:
        conditions = (item.get("status") or {}).get("conditions") or ()
        found = condition(conditions, kind)
        return found is not None and found["reason"] == reason and version_of(item) > after

    return await life.until(seen, f"{kind} with reason {reason}")


async def events_about(client: KubeClient, namespace: str, name: str) -> list[tuple[str, str, str]]:
    """Returns type, reason and message of every event on the AppWrapper of that name."""
    return [
        (each["type"], each["reason"], each["message"])
        for each in await listed(client, EVENTS, namespace)
        if each["involvedObject"]["kind"] == "AppWrapper" and each["involvedObject"]["name"] == name
    ]
