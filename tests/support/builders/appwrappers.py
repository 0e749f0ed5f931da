"""Builds AppWrappers, and reads their status."""

from collections.abc import Mapping
from typing import Any

from shared.api.objects import JsonObject
from tests.support.builders.annotations import prefixed

QUEUE = {"kueue.x-k8s.io/queue-name": "default-queue"}
# With these annotations nothing waits between two attempts.
AT_ONCE = {"failureGracePeriodDuration": "0s", "retryPausePeriodDuration": "0s"}


def manifest(*wrapped: Any, spec: Mapping[str, Any] | None = None, **metadata: Any) -> JsonObject:
    """Builds an AppWrapper of templates, or of components, with this metadata and no other.

    The fields of `spec` replace its own.
    """
    components = [
        each if isinstance(each, Mapping) and "template" in each else {"template": each}
        for each in wrapped
    ]
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": metadata,
        "spec": {"components": components, **(spec or {})},
    }


def appwrapper(
    name: str,
    *wrapped: Any,
    queued: bool = True,
    annotations: Mapping[str, str] | None = None,
    **metadata: Any,
) -> JsonObject:
    """Builds an AppWrapper of templates, or of components, in the team's queue.

    The keys of `annotations` have no prefix. `metadata` replaces its own fields.
    """
    labels = dict(QUEUE) if queued else {}
    ours = prefixed(**(annotations or {}))
    return manifest(*wrapped, **{"name": name, "labels": labels, "annotations": ours, **metadata})


def true_conditions(item: JsonObject) -> set[str]:
    """Returns the types of the conditions that are True."""
    conditions = (item.get("status") or {}).get("conditions") or []
    return {each["type"] for each in conditions if each["status"] == "True"}


def phase(item: JsonObject) -> str:
    """Returns `status.phase`; empty at first."""
    return str((item.get("status") or {}).get("phase") or "")


def version_of(item: JsonObject) -> int:
    """Returns the resourceVersion as a number."""
    return int(item["metadata"]["resourceVersion"])


def with_quota_seconds(item: JsonObject, seconds: int | None) -> JsonObject:
    """Returns the AppWrapper after it held quota for so long before now. None: not recorded."""
    status = {key: each for key, each in item["status"].items() if key != "quotaSeconds"}
    recorded = {} if seconds is None else {"quotaSeconds": seconds}
    return {**item, "status": {**status, **recorded}}
