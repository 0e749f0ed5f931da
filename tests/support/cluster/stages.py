"""Components that make their pods in stages, and pods that report their state in steps."""

from typing import Any

from shared.api.objects import PODS, JsonObject
from tests.support.builders.appwrappers import phase, true_conditions, version_of
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.life_record import READY, condition
from tests.support.patience import comes_to

# A test reports the state of these pods in place of their node.
STAYS_PENDING = {"hang": "pending"}
LONG = {"admissionGracePeriodDuration": "1h", "warmupGracePeriodDuration": "1h"}
# A missing or failed pod ends the AppWrapper at once.
IMPATIENT = {"failureGracePeriodDuration": "0s", "retryLimit": "0"}
NOW = {"admissionGracePeriodDuration": "0s", "warmupGracePeriodDuration": "0s"}
# A container crashes again and again, as a kubelet reports it; the controller reports that.
CRASH_LOOP: dict[str, Any] = {
    "containerStatuses": [
        {
            "name": "main",
            "image": "none",
            "imageID": "none",
            "ready": False,
            "restartCount": 2,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        }
    ]
}


async def until_pending(lives: Lives, name: str) -> None:
    """Waits until the pod's node has reported all that it does: that the pod waits.

    It would overwrite what a test reports before that.
    """

    async def waits() -> bool:
        item = await lives.client.get(PODS, NAMESPACE, name)
        return bool(item["status"].get("containerStatuses"))

    await comes_to(waits, True)


def running(*, ready: bool) -> dict[str, Any]:
    """Builds the status of a pod that runs, and is ready or not yet."""
    ready_condition = {"type": "Ready", "status": str(ready)}
    return {"phase": "Running", "conditions": [ready_condition]}


async def waits_for_no_pod(life: Life, *, after: int = 0) -> JsonObject:
    """Waits until it is not ready and no period runs: all pods run that are wanted so far."""

    def seen(item: JsonObject) -> bool:
        timers = (item.get("status") or {}).get("timers") or {}
        waits = phase(item) == "Running" and READY not in true_conditions(item)
        return version_of(item) > after and waits and not {"admission", "warmup"} & {*timers}

    return await life.until(seen, "no period that runs")


async def falls(life: Life, message: str) -> None:
    """Waits until PodsReady of a running one is False with this message; or until it has failed."""

    def seen(item: JsonObject) -> bool:
        is_reported = (
            phase(item) == "Running" and condition(item, READY).reason == "InsufficientPodsReady"
        )
        return is_reported or phase(item) == "Failed"

    fallen = await life.until(seen, "PodsReady False")
    assert (phase(fallen), condition(fallen, READY).message) == ("Running", message)
