"""Lives that end with a failure: a failing pod, its retries, and the end."""

from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import true_conditions, version_of
from tests.support.builders.pods import pod
from tests.support.cluster.life import Life
from tests.support.life_record import DEPLOYED, QUOTA


def failing(name: str, **simulation: str) -> JsonObject:
    """Builds a pod that fails soon after it runs."""
    return pod(name, **{"run_for": "300ms", "exit_code": "1"} | simulation)


async def ended(life: Life, *, after: JsonObject) -> JsonObject:
    """Waits until it has released everything."""
    return await life.until(
        lambda item: (
            version_of(item) > version_of(after) and not true_conditions(item) & {QUOTA, DEPLOYED}
        ),
        "everything given back",
    )
