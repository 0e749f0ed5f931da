"""Builds AppWrappers, and reads what they say of themselves."""

from shared.api.json import JsonObject

QUEUE = {"kueue.x-k8s.io/queue-name": "default-queue"}


def appwrapper(
    name: str,
    *templates: JsonObject,
    queued: bool = True,
    annotations: dict[str, str] | None = None,
) -> JsonObject:
    """Wraps `templates`. `annotations` are ours, without their prefix."""
    prefix = "workload.codeflare.dev.appwrapper/"
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {
            "name": name,
            "labels": QUEUE if queued else {},
            "annotations": {prefix + key: value for key, value in (annotations or {}).items()},
        },
        "spec": {"components": [{"template": template} for template in templates]},
    }


def true_conditions(item: JsonObject) -> set[str]:
    """The types of the conditions that are True."""
    conditions = (item.get("status") or {}).get("conditions") or []
    return {each["type"] for each in conditions if each["status"] == "True"}


def phase(item: JsonObject) -> str:
    """`status.phase`; empty at first."""
    return str((item.get("status") or {}).get("phase") or "")


def version_of(item: JsonObject) -> int:
    """The resourceVersion as a number."""
    return int(item["metadata"]["resourceVersion"])
