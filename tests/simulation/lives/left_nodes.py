"""Periods and readings for lives of AppWrappers that leave their nodes."""

from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import EVENTS, PODS, JsonObject, label
from shared.injection.avoided_hosts import LABEL_HOSTNAME
from tests.simulation.lives.lived import Life
from tests.support.builders.appwrappers import phase

GRACE = 120.0
# The target: the time of the deletion and of the next start, beyond the grace period.
TARGET = 30.0
# The retry pause would exceed the target, and the node is back long after the end.
PERIODS = {"retryPausePeriodDuration": "5m", "failureGracePeriodDuration": "1m"}
LASTS = {"run_for": "20m", "grace": "30"}
ONCE = ["", "Suspended", "Resuming", "Running"]
AGAIN = [*ONCE, "Resetting", "Resuming", "Running", "Succeeded"]


def next_pods(life: Life, attempt: int) -> list[float]:
    """Returns when the pods of that attempt were bound to a node."""
    return [
        write.at
        for write in life.world.cluster.store.history[PODS]
        if label(write.item, LABEL_ATTEMPT) == str(attempt)
        and write.item["spec"].get("nodeName")
        and not ((write.old or {}).get("spec") or {}).get("nodeName")
    ]


def warnings(life: Life, reason: str) -> list[str]:
    found = life.world.cluster.store.history[EVENTS]
    return [each.item["message"] for each in found if each.item["reason"] == reason]


def said(item: JsonObject, kind: str) -> str:
    """Returns the message of a condition; empty without it."""
    found = (item.get("status") or {}).get("conditions") or ()
    return next((str(each["message"]) for each in found if each["type"] == kind), "")


def resets(life: Life) -> list[JsonObject]:
    """Returns the AppWrapper at the beginning of each reset."""
    return [
        event.object
        for before, event in zip(life.events, life.events[1:], strict=False)
        if phase(event.object) == "Resetting" and phase(before.object) == "Running"
    ]


def stay_on(node: str, body: JsonObject) -> None:
    for component in body["spec"]["components"]:
        spec = component["template"]["spec"]["template"]["spec"]
        spec["nodeSelector"] = {LABEL_HOSTNAME: node}
