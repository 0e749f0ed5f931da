"""The entries of status.componentStatus: each component's pod sets and full name."""

from collections.abc import Sequence
from typing import Final

from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition
from shared.api.names import CONDITION_RESOURCES_DEPLOYED
from shared.api.objects import GroupVersionKind, JsonObject
from shared.injection.component import generated_name
from shared.kinds.kind import PodSetError
from shared.kinds.table import component_pod_sets, record_of

# Values for condition fields that the schema requires, if the real ones are unknown.
_PLACEHOLDERS: Final[JsonObject] = {
    "reason": "ComponentCreationInitiated",
    "message": "",
    "lastTransitionTime": "1970-01-01T00:00:00Z",
}


def deployed_condition(recorded: JsonObject) -> JsonObject:
    """Return the ResourcesDeployed condition; empty if there is none."""
    return condition(recorded.get("conditions") or (), CONDITION_RESOURCES_DEPLOYED) or {}


def deployed_status(recorded: JsonObject) -> str:
    """Return Unknown during creation, False if creation failed or it is gone, True, or ""."""
    return str(deployed_condition(recorded).get("status") or "")


def kind_of(recorded: JsonObject) -> GroupVersionKind:
    """Return the Kind that `status.componentStatus` records."""
    return GroupVersionKind.of(recorded.get("apiVersion") or "", recorded.get("kind") or "")


def pods_in(recorded: JsonObject) -> int:
    """Return the number of pods in the pod sets of a component."""
    return sum(
        1 if (replicas := pod_set.get("replicas")) is None else max(0, replicas)
        for pod_set in recorded.get("podSets") or ()
    )


def made_pod_sets(entries: Sequence[JsonObject], index: int) -> list[JsonObject]:
    """Return the recorded pod sets whose pods the component of that index makes.

    A TrainingRuntime makes no pods: the TrainJob after it makes those of its pod sets.
    """
    own = entries[index]
    found: list[JsonObject] = [] if pods_by(own) else [*(own.get("podSets") or ())]
    if index and pods_by(entries[index - 1]) == kind_of(own).group_kind:
        return [*(entries[index - 1].get("podSets") or ()), *found]
    return found


def pods_by(recorded: JsonObject) -> str:
    """Return the Kind of the next component, if that makes the pods; else ""."""
    return record_of(kind_of(recorded).group_kind).pods_by


def recorded_pod_sets(appwrapper: AppWrapper) -> list[JsonObject]:
    """Return one entry per component, without names, with the pod sets that Kueue infers.

    A component with unreadable pod sets gets none: its creation reports the error.
    """
    return [
        {"name": "", "kind": "", "apiVersion": "", "podSets": pod_sets_of(component)}
        for component in appwrapper.components
    ]


def named(
    entry: JsonObject, component: JsonObject, uid: str, attempt: int, index: int
) -> JsonObject:
    """Return a component's entry with the name of its object in that attempt."""
    template = component["template"]
    return entry | {
        "name": fixed_name(component) or _generated(template, uid, attempt, index),
        "kind": template.get("kind") or "",
        "apiVersion": template.get("apiVersion") or "",
    }


def with_another_name(
    entry: JsonObject, component: JsonObject, uid: str, attempt: int, index: int
) -> JsonObject:
    """Return the entry with another name from generateName: another object has the present one."""
    name = _generated(component["template"], uid, attempt, index, entry.get("name") or "")
    return entry | {"name": name}


def fixed_name(component: JsonObject) -> str:
    """Return the name in the template; it may be empty."""
    return str(_metadata(component["template"]).get("name") or "")


def with_sound_record(appwrapper: AppWrapper) -> AppWrapper:
    """Return the AppWrapper with a componentStatus that matches its components.

    Any client with write access to statuses can spoil componentStatus. The controller must still
    find the deployed components, which may be running. It computes their names again; names that
    an earlier attempt made from generateName are lost.
    """
    if appwrapper.attempt < 1:
        return _with_pod_sets(appwrapper)
    if _is_sound(appwrapper):
        return appwrapper
    # During Resuming the status does not show which components exist already.
    resuming = appwrapper.status.get("phase") == "Resuming"
    deployed = {"type": CONDITION_RESOURCES_DEPLOYED, "status": "Unknown" if resuming else "True"}
    entries = [
        named(entry, component, appwrapper.uid, appwrapper.attempt, index)
        | {"conditions": [deployed | _PLACEHOLDERS]}
        for index, (entry, component) in enumerate(
            zip(recorded_pod_sets(appwrapper), appwrapper.components, strict=True)
        )
    ]
    return _with_entries(appwrapper, entries)


def _with_pod_sets(appwrapper: AppWrapper) -> AppWrapper:
    """Add missing pod sets if nothing was deployed: Kueue computes the same ones itself."""
    fits = len(appwrapper.component_statuses) == len(appwrapper.components)
    phase = appwrapper.status.get("phase") or ""
    if phase and (fits or phase != "Suspended"):
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


def _generated(template: JsonObject, uid: str, attempt: int, index: int, taken: str = "") -> str:
    base = str(_metadata(template).get("generateName") or "")
    return generated_name(base, uid, attempt, index, taken)


def _metadata(template: JsonObject) -> JsonObject:
    """Return the metadata; empty if its type is wrong, which the creation reports."""
    metadata = template.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def pod_sets_of(component: JsonObject) -> list[JsonObject]:
    """Return the pod sets; none if they are unreadable, which the creation reports."""
    try:
        return [pod_set.as_json() for pod_set in component_pod_sets(component)]
    except PodSetError:
        return []
