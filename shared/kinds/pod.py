"""v1 Pod."""

from shared.api.conditions import SUCCEEDED, UNFINISHED, ComponentReport
from shared.api.objects import PODS, JsonObject
from shared.kinds.kind import ROOT, Kind, PodSet


def pod_sets(_template: JsonObject) -> tuple[PodSet, ...]:
    """Return the Pod itself."""
    return (PodSet(ROOT),)


def report(item: JsonObject) -> ComponentReport:
    """Report success only. A failed pod gets the grace period of failed pods instead."""
    return SUCCEEDED if (item.get("status") or {}).get("phase") == "Succeeded" else UNFINISHED


POD = Kind(
    resource=PODS,
    granted="Wrapped pods are created; all labelled pods are counted by phase, and deleted where "
    "they outlive their grace period.",
    versions=("v1",),
    pod_sets=pod_sets,
    report=report,
    ends=True,
    default_restart_policy="Always",
)
