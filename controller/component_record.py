"""What status.componentStatus says of each component: its pod sets and its full name. Pure."""

from typing import Final

from shared.api.appwrapper import AppWrapper
from shared.api.json import JsonObject
from shared.api.names import CONDITION_RESOURCES_DEPLOYED
from shared.injection.generated_name import generated_name
from shared.kinds.pod_set import PodSetError
from shared.kinds.table import component_pod_sets

# What the schema wants of a condition, where nobody has told it.
_UNTOLD: Final[JsonObject] = {
    "reason": "ComponentCreationInitiated",
    "message": "",
    "lastTransitionTime": "1970-01-01T00:00:00Z",
}


def recorded_pod_sets(appwrapper: AppWrapper) -> list[JsonObject]:
    """One entry per component, as Kueue would infer them (kueue.md 0.3), without names.

    A component whose pod sets cannot be told gets none; creating it will say what is wrong.
    """
    return [
        {"name": "", "kind": "", "apiVersion": "", "podSets": _pod_sets(component)}
        for component in appwrapper.components
    ]


def named(
    entry: JsonObject, component: JsonObject, uid: str, attempt: int, index: int
) -> JsonObject:
    """The entry of a component with the name that its object has, or gets, in that attempt."""
    template = component["template"]
    return entry | {
        "name": fixed_name(component) or _generated(template, uid, attempt, index),
        "kind": template.get("kind") or "",
        "apiVersion": template.get("apiVersion") or "",
    }


def fixed_name(component: JsonObject) -> str:
    """The name that the template itself gives; may be empty."""
    return str(_metadata(component["template"]).get("name") or "")


def with_sound_record(appwrapper: AppWrapper) -> AppWrapper:
    """The same, with a record that fits its components, where somebody else has spoilt it.

    The controller alone writes componentStatus, but whoever may write statuses can leave anything
    there. What was deployed must be found all the same: it may be running. Names are made so that
    they can be told again, save of what an earlier attempt left by generateName.
    """
    if appwrapper.attempt < 1:
        return _with_pod_sets(appwrapper)
    if _is_sound(appwrapper):
        return appwrapper
    # While they are being created nobody can say which are there.
    resuming = appwrapper.status.get("phase") == "Resuming"
    deployed = {"type": CONDITION_RESOURCES_DEPLOYED, "status": "Unknown" if resuming else "True"}
    entries = [
        named(entry, component, appwrapper.uid, appwrapper.attempt, index)
        | {"conditions": [deployed | _UNTOLD]}
        for index, (entry, component) in enumerate(
            zip(recorded_pod_sets(appwrapper), appwrapper.components, strict=True)
        )
    ]
    return _with_entries(appwrapper, entries)


def _with_pod_sets(appwrapper: AppWrapper) -> AppWrapper:
    """Where nothing was deployed yet: what Kueue computes as well while the record does not fit."""
    fits = len(appwrapper.component_statuses) == len(appwrapper.components)
    if fits or appwrapper.status.get("phase") != "Suspended":
        return appwrapper
    return _with_entries(appwrapper, recorded_pod_sets(appwrapper))


def _with_entries(appwrapper: AppWrapper, entries: list[JsonObject]) -> AppWrapper:
    status = {**appwrapper.status, "componentStatus": entries}
    return AppWrapper({**appwrapper.raw, "status": status})


def _is_sound(appwrapper: AppWrapper) -> bool:
    entries, components = appwrapper.component_statuses, appwrapper.components
    return len(entries) == len(components) and all(
        _fits(entry, component) for entry, component in zip(entries, components, strict=True)
    )


def _fits(entry: JsonObject, component: JsonObject) -> bool:
    template = component["template"]
    name = fixed_name(component)
    return (
        entry.get("kind") == template.get("kind")
        and entry.get("apiVersion") == template.get("apiVersion")
        and (entry.get("name") == name if name else bool(entry.get("name")))
    )


def _generated(template: JsonObject, uid: str, attempt: int, index: int) -> str:
    base = str(_metadata(template).get("generateName") or "")
    return generated_name(base, uid, attempt, index)


def _metadata(template: JsonObject) -> JsonObject:
    """Empty where it is of a wrong type: creating it will say what is wrong."""
    metadata = template.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _pod_sets(component: JsonObject) -> list[JsonObject]:
    try:
        return [pod_set.as_json() for pod_set in component_pod_sets(component)]
    except PodSetError:
        return []
