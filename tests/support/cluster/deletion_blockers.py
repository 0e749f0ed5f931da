"""Blocks a deletion, and waits until the status names the blocker."""

from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeClient, PatchType
from tests.support.builders.appwrappers import true_conditions
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, condition

HOLD = "example.com/hold"


async def set_finalizers(
    client: KubeClient, resource: Resource, name: str, *finalizers: str
) -> None:
    patch = {"metadata": {"finalizers": list(finalizers) or None}}
    await client.patch(resource, NAMESPACE, name, patch, PatchType.MERGE)


async def blocked(life: Life, message: str, *, more: bool = False) -> JsonObject:
    """Returns the first state with this message that holds its quota; with `more`, it goes on."""

    def message_of(item: JsonObject) -> str:
        whole = condition(item, DELETING).message
        return whole[: len(message)] if more else whole

    item = await life.until(
        lambda each: DELETING in true_conditions(each) and message_of(each) == message,
        f"the blocker {message!r}",
    )
    assert condition(item, DELETING)[:2] == ("True", "DeletionBlocked")
    assert true_conditions(item) >= {QUOTA, DEPLOYED}
    return item
