"""Read why the scheduler finds no node for a pod, or why no scheduler has reported on it."""

import json
import re
from typing import Final

from shared.api.conditions import condition
from shared.api.lines import one_line
from shared.api.objects import JsonObject
from shared.waits.pods import without_preemption
from shared.waits.words import joined

# Any client may write a pod's status, and terminals show conditions.
_LONGEST_UNSCHEDULED: Final = 200  # characters
# SchedulerError: the scheduler itself failed, for example to bind a volume.
_REJECTED: Final = ("Unschedulable", "SchedulerError")
_ALL_NODES: Final = re.compile(r"^0/[0-9]+ nodes are available: ")


def scheduler_message(status: JsonObject) -> str:
    """Return `8 Insufficient nvidia.com/gpu`; empty if the scheduler has not rejected the pod.

    One printable line of bounded length, without the advice on preemption.
    """
    found = condition(status.get("conditions") or (), "PodScheduled")
    if found is None or found.get("status") != "False" or found.get("reason") not in _REJECTED:
        return ""
    message = without_preemption(str(found.get("message") or ""))
    text = one_line(_ALL_NODES.sub("", message.strip()), _LONGEST_UNSCHEDULED).rstrip(".")
    return text or "the scheduler finds no node"


_MOST_GATES: Final = 3


def ignored_by_scheduler(spec: JsonObject, status: JsonObject) -> str:
    """Return why no scheduler has reported on a pending pod; empty if one has."""
    if spec.get("nodeName"):
        return ""
    if gates := sorted(str(each.get("name")) for each in spec.get("schedulingGates") or ()):
        noun = "gate" if len(gates) == 1 else "gates"
        return f"scheduling {noun} {joined(gates[:_MOST_GATES])}"
    if condition(status.get("conditions") or (), "PodScheduled") is not None:
        return ""
    name = spec.get("schedulerName") or "default-scheduler"
    return f"scheduler {name} has not reported on it"


def placement(spec: JsonObject) -> str:
    """Return what a pod requires of nodes beside resources, as JSON; empty if nothing.

    Equal pods have equal texts.
    """
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    found = {
        "selector": spec.get("nodeSelector"),
        "terms": required.get("nodeSelectorTerms"),
        "tolerations": spec.get("tolerations"),
    }
    found = {key: value for key, value in found.items() if value}
    return json.dumps(found, sort_keys=True, separators=(",", ":")) if found else ""
