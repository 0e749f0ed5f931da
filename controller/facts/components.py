"""Components as facts: their recorded state, their objects and the attempt of these objects."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.facts.pods import Pod, component_index
from controller.phases.snapshot import Component
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import NO_PROGRESS, Progress, Terminal
from shared.api.names import (
    ANNOTATION_KEEP,
    CONDITION_RESOURCES_DEPLOYED,
    KIND,
    LABEL_APPWRAPPER,
    LABEL_ATTEMPT,
    LABEL_UID,
)
from shared.api.objects import JsonObject, Owner, Resource, controller_of
from shared.injection.component import generated_name
from shared.kinds.kind import PodSetError
from shared.kinds.table import (
    component_pod_sets,
    pod_sets_once_admitted,
    progress_of,
    report_of,
)

# Components that survive resets and suspensions, because their user asked for it.


# In a component's outline: the result of `may_have_pods`, as the outline has no whole template.
MAY_HAVE_PODS: Final = "mayHavePods"


def asks_to_be_kept(component: JsonObject) -> bool:
    """True if the user annotated it so. Kueue drops unknown fields but keeps annotations."""
    return bool((component.get("annotations") or {}).get(ANNOTATION_KEEP) == "true")


def is_kept(component: JsonObject) -> bool:
    """True if an element of spec.components asks to be kept and certainly has no pods.

    Pods that outlive a suspension would run without quota. The webhook rejects such components;
    this check covers objects that bypassed the webhook, and components without readable pod sets.
    """
    return asks_to_be_kept(component) and not may_have_pods(component)


def is_kept_at(appwrapper: AppWrapper, index: int) -> bool:
    """True if the component of that index survives resets and suspensions."""
    components = appwrapper.components
    return index < len(components) and is_kept(components[index])


def may_have_pods(component: JsonObject) -> bool:
    """True if it declares pod sets, its Kind creates pods, or its pod sets are unreadable."""
    if (told := component.get(MAY_HAVE_PODS)) is not None:
        return bool(told)
    try:
        return bool(pod_sets_once_admitted(component))
    except PodSetError:
        return True


# The entries of status.componentStatus: each component's pod sets and full name.

# Values for condition fields that the schema requires, if the real ones are unknown.
_UNTOLD: Final[JsonObject] = {
    "reason": "ComponentCreationInitiated",
    "message": "",
    "lastTransitionTime": "1970-01-01T00:00:00Z",
}


def recorded_pod_sets(appwrapper: AppWrapper) -> list[JsonObject]:
    """Return one entry per component, without names, with the pod sets that Kueue infers.

    A component with unreadable pod sets gets none: its creation reports the error.
    """
    return [
        {"name": "", "kind": "", "apiVersion": "", "podSets": _pod_sets(component)}
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
        | {"conditions": [deployed | _UNTOLD]}
        for index, (entry, component) in enumerate(
            zip(recorded_pod_sets(appwrapper), appwrapper.components, strict=True)
        )
    ]
    return _with_entries(appwrapper, entries)


def _with_pod_sets(appwrapper: AppWrapper) -> AppWrapper:
    """Add missing pod sets if nothing was deployed: Kueue computes the same ones itself."""
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


def _generated(template: JsonObject, uid: str, attempt: int, index: int, taken: str = "") -> str:
    base = str(_metadata(template).get("generateName") or "")
    return generated_name(base, uid, attempt, index, taken)


def _metadata(template: JsonObject) -> JsonObject:
    """Return the metadata; empty if its type is wrong, which the creation reports."""
    metadata = template.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _pod_sets(component: JsonObject) -> list[JsonObject]:
    try:
        return [pod_set.as_json() for pod_set in component_pod_sets(component)]
    except PodSetError:
        return []


# The part of a wrapped object that the controller remembers.


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentFacts:
    """One object and the AppWrapper that controls it. `message`: why it failed, if it did.

    `invalid`: it failed because its operator rejects it.

    `leaves`: when its deletion, with the grace period, is due; empty without a deletion.
    `labelled`: it carries the label that watches select. Without the label no watch reports it.
    """

    namespace: str
    name: str
    group_kind: str = "Pod"
    uid: str
    owner_uid: str
    owner_name: str
    attempt: str  # empty if the Go operator created it
    deleting: bool
    terminal: Terminal | None = None
    message: str = ""
    invalid: bool = False
    progress: Progress = NO_PROGRESS
    leaves: str = ""
    labelled: bool = True
    component: int | None = None  # its index by its label; None without the label
    controlled: bool = False  # its owner reference names the AppWrapper, not only its label


@dataclass(frozen=True, slots=True)
class Located:
    """A component for decisions, with the place of its object. `facts` None: no object exists."""

    component: Component
    resource: Resource | None  # None: the API server does not serve its Kind
    facts: ComponentFacts | None
    watched: bool = True  # False: no watch reports changes of the object


def project_component(group_kind: str, item: JsonObject) -> ComponentFacts | None:
    """Project an object, or only its metadata; None for one without a controlling owner.

    The UID label replaces a lost owner reference: after a deletion of the AppWrapper with
    `--cascade=orphan` the garbage collector removes the reference.
    """
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    controller = controller_of(item)
    owner = controller or _labelled_owner(labels)
    if owner is None:
        return None
    report = report_of(group_kind, item)
    return ComponentFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        group_kind=group_kind,
        uid=metadata["uid"],
        owner_uid=owner.uid,
        owner_name=owner.name,
        attempt=labels.get(LABEL_ATTEMPT, ""),
        deleting="deletionTimestamp" in metadata,
        leaves=metadata.get("deletionTimestamp") or "",
        terminal=report.terminal,
        message=report.message,
        invalid=report.invalid,
        progress=progress_of(group_kind, item),
        labelled=LABEL_APPWRAPPER in labels,
        component=component_index(labels),
        controlled=controller is not None,
    )


def _labelled_owner(labels: dict[str, str]) -> Owner | None:
    if not labels.get(LABEL_UID):
        return None
    return Owner(labels[LABEL_UID], KIND, labels.get(LABEL_APPWRAPPER, ""))


# Components' reports of pods that ended well and may be gone.


def reported_alone(
    components: Sequence[Component], succeeded: Mapping[int | None, Sequence[Pod]]
) -> dict[int | None, int]:
    """Return by component how many more succeeded pods it reports than the controller has seen.

    A component reports later than its pods. If it names its succeeded pods, a seen pod that it
    does not name yet counts in addition. `succeeded`: the seen ones, by component.
    """
    return {
        index: _alone(each, succeeded.get(index, ()))
        for index, each in enumerate(components)
        if each.succeeded_pods
    }


def _alone(component: Component, seen: Sequence[Pod]) -> int:
    if component.succeeded_by_owner:
        made = Counter(pod.owner_name for pod in seen)
        total = 0
        for prefix, owners, pods in component.succeeded_by_owner:
            # The component counts only owners whose pods all succeeded.
            whole = sum(each >= pods for name, each in made.items() if _is_of(name, prefix))
            total += pods * max(0, owners - whole)
        return total
    meant = len(seen)
    if component.succeeded_indices:
        indices = list(_ranges(component.succeeded_indices))
        meant = sum(any(_index(pod) in each for each in indices) for pod in seen)
    return max(0, component.succeeded_pods - meant)


def _is_of(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name[len(prefix) :].isdecimal()


def _ranges(indices: str) -> Iterable[range]:
    for each in indices.split(","):
        first, _, last = each.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            yield range(int(first), int(last or first) + 1)


def _index(pod: Pod) -> int:
    """Return 3 for the index `/3` of a Job's pod; -1 for a pod without an index."""
    text = pod.index.rpartition("/")[2]
    return int(text) if text.isdecimal() else -1


# The number of the attempt, if the status has lost it.
#
# A client that writes a status with the Go operator's types drops all fields unknown to them, the
# attempt's number too: the Go operator itself, if it ran meanwhile, or a program that uses its API
# package. The labels of deployed objects keep the number.

_MOST_DIGITS: Final = 9  # the schema accepts such a number, and the next one


def is_lost(appwrapper: AppWrapper) -> bool:
    """True if its status has no attempt number: lost, or deployed by the Go operator."""
    return "attempt" not in appwrapper.status


def was_deployed(appwrapper: AppWrapper) -> bool:
    """True if its status records a deployment, which may be over."""
    return any(each.get("conditions") for each in appwrapper.component_statuses)


def told_by(
    appwrapper: AppWrapper, components: Iterable[ComponentFacts], pods: Sequence[Pod]
) -> int:
    """Return the highest number on its objects and pods; 0 if none has one (Go operator)."""
    told = [each.attempt for each in components]
    told += [pod.attempt for pod in pods if pod.appwrapper_uid == appwrapper.uid]
    return max((int(each) for each in told if is_number(each)), default=0)


def with_attempt(appwrapper: AppWrapper, number: int) -> AppWrapper:
    """Return the AppWrapper in that attempt, for the next status write; 0 changes nothing."""
    if number < 1:
        return appwrapper
    return AppWrapper({**appwrapper.raw, "status": {**appwrapper.status, "attempt": number}})


def is_number(label: str) -> bool:
    """True if an attempt label is a number that the status can hold."""
    return label.isascii() and label.isdecimal() and len(label) <= _MOST_DIGITS
