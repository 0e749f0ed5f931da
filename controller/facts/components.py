"""Components as facts: what is recorded of them, what is there, and which attempt that is of."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.facts.pods import Pod
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

# Components that survive resets and suspensions, because their user says so.


# In the outline of a component: the answer of `may_have_pods`, which its template no longer gives.
MAY_HAVE_PODS: Final = "mayHavePods"


def asks_to_be_kept(component: JsonObject) -> bool:
    """Annotations survive what Kueue does to components (kueue.md 0.2)."""
    return bool((component.get("annotations") or {}).get(ANNOTATION_KEEP) == "true")


def is_kept(component: JsonObject) -> bool:
    """An element of spec.components is kept: it asks for it, and has no pods.

    Pods that outlived a suspension would run without quota. The webhook refuses to keep those; one
    that it has not seen is not kept. Nor is a component whose pod sets cannot be told.
    """
    return asks_to_be_kept(component) and not may_have_pods(component)


def may_have_pods(component: JsonObject) -> bool:
    """It declares pod sets, or is of a Kind that makes pods, or nobody can tell."""
    if (told := component.get(MAY_HAVE_PODS)) is not None:
        return bool(told)
    try:
        return bool(pod_sets_once_admitted(component))
    except PodSetError:
        return True


# What status.componentStatus says of each component: its pod sets and its full name.

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


# What the controller remembers of one wrapped object.


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentFacts:
    """One object and the AppWrapper that controls it. `message` says why it failed, if it did.

    `leaves` is when a delete, with its grace period, should have been done; empty without one.
    `labelled`: it carries the label by which objects are watched. Without it no watch tells of it.
    """

    namespace: str
    name: str
    group_kind: str = "Pod"
    uid: str
    owner_uid: str
    owner_name: str
    attempt: str  # empty where the Go operator made it
    deleting: bool
    terminal: Terminal | None = None
    message: str = ""
    progress: Progress = NO_PROGRESS
    leaves: str = ""
    labelled: bool = True


@dataclass(frozen=True, slots=True)
class Located:
    """One component: for decisions, and where its object is. `facts` None: there is none."""

    component: Component
    resource: Resource | None  # None: the API server does not serve its Kind
    facts: ComponentFacts | None
    watched: bool = True  # False: a change of the object wakes nobody


def project_component(group_kind: str, item: JsonObject) -> ComponentFacts | None:
    """From the API server's object (or its metadata); None for one that nobody controls.

    An object that lost its owner is still its AppWrapper's by our label: deleting the AppWrapper
    with `--cascade=orphan` makes the garbage collector take the reference away.
    """
    metadata = item["metadata"]
    owner = controller_of(item) or _labelled_owner(metadata.get("labels") or {})
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
        attempt=(metadata.get("labels") or {}).get(LABEL_ATTEMPT, ""),
        deleting="deletionTimestamp" in metadata,
        leaves=metadata.get("deletionTimestamp") or "",
        terminal=report.terminal,
        message=report.message,
        progress=progress_of(group_kind, item),
        labelled=LABEL_APPWRAPPER in (metadata.get("labels") or {}),
    )


def _labelled_owner(labels: dict[str, str]) -> Owner | None:
    if not labels.get(LABEL_UID):
        return None
    return Owner(labels[LABEL_UID], KIND, labels.get(LABEL_APPWRAPPER, ""))


# What components report of pods that ended well and may be gone.


def reported_alone(
    components: Sequence[Component], succeeded: Mapping[int | None, Sequence[Pod]]
) -> dict[int | None, int]:
    """By component: how many more pods ended well, by its own word, than are known to have.

    Its word comes later than that of its pods. So where it says which ones it means, a pod that is
    not among these counts beside them. `succeeded` are the known ones, by component.
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
            # One whose pods did not all succeed is none of those that it means.
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
    """Of a Job's pod, `/3`; -1 for one without."""
    text = pod.index.rpartition("/")[2]
    return int(text) if text.isdecimal() else -1


# Which attempt it is, where its status says it no more.
#
# Whoever writes a status with the Go operator's types drops the fields that these lack, the
# number of the attempt among them: that operator itself, where it ran in between, and every
# program made with its API package. What was deployed carries the number.

_MOST_DIGITS: Final = 9  # of a number that the schema takes, also when one is added


def is_lost(appwrapper: AppWrapper) -> bool:
    """Its status counts no attempts: it lost the number, or the Go operator deployed it."""
    return "attempt" not in appwrapper.status


def was_deployed(appwrapper: AppWrapper) -> bool:
    """Its record speaks of a deployment, which may be over."""
    return any(each.get("conditions") for each in appwrapper.component_statuses)


def told_by(
    appwrapper: AppWrapper, components: Iterable[ComponentFacts], pods: Sequence[Pod]
) -> int:
    """The highest number on what it deployed; 0 where nothing has one, as under the Go operator."""
    told = [each.attempt for each in components]
    told += [pod.attempt for pod in pods if pod.appwrapper_uid == appwrapper.uid]
    return max((int(each) for each in told if _is_number(each)), default=0)


def with_attempt(appwrapper: AppWrapper, number: int) -> AppWrapper:
    """The same in that attempt, which the next status write records; 0 changes nothing."""
    if number < 1:
        return appwrapper
    return AppWrapper({**appwrapper.raw, "status": {**appwrapper.status, "attempt": number}})


def _is_number(label: str) -> bool:
    return label.isascii() and label.isdecimal() and len(label) <= _MOST_DIGITS
