"""Builds what Kueue's Dynamic Quota Orchestration writes, by the source of Kueue 0.20."""

from copy import deepcopy

from shared.api.objects import JsonObject


def orchestrated(queue: JsonObject, *, of: JsonObject | None = None) -> JsonObject:
    """Builds the ClusterQueue or Cohort with the effective quotas that `of` has in its spec.

    Without `of` it has none: an empty list replaces the spec's quotas, too.
    """
    made = deepcopy(queue)
    made["status"] = {
        **(made.get("status") or {}),
        "effectiveQuotas": {
            "orchestratorRef": {
                "apiGroup": "kueue.x-k8s.io",
                "kind": "DynamicQuotaOrchestrator",
                "name": "production-capacity",
            },
            "resourceGroups": deepcopy(of["spec"]["resourceGroups"]) if of else [],
        },
    }
    return made
