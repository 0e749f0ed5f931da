"""Blocks a deletion, and waits until the status names the blocker."""

from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeClient, PatchType
from tests.support.builders.appwrappers import true_conditions
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, Condition, condition

HOLD = "example.com/hold"


async def set_finalizers(
    client: KubeClient, resource: Resource, name: str, *finalizers: str
) -> None:
    patch = {"metadata": {"finalizers": list(finalizers) or None}}
    await client.patch(resource, NAMESPACE, name, patch, PatchType.MERGE)


async def blocked(life: Life, message: str) -> JsonObject:
    """Returns the first state with this message that holds its quota."""
    item = await life.until(
        lambda each: (
            DELETING in true_conditions(each) and condition(each, DELETING).message == message
        ),
        f"the blocker {message!r}",
    )
    assert condition(item, DELETING) == Condition("True", "DeletionBlocked", message)
    assert true_conditions(item) >= {QUOTA, DEPLOYED}
    return item
