"""Define the record of a Kind, and pod sets as Kueue counts them.

Webhook, controller, roles and documentation read the same record. A pod set is the path of a pod
template and its number of pods.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from shared.api.conditions import ComponentReport, Progress
from shared.api.objects import JsonObject, JsonValue, Resource, of_type, type_of
from shared.kinds.uncounted_pods import Counter, LeftPods, Uncounted

MAXIMUM_REPLICAS: Final = 2**31 - 1  # int32 in Kueue's and the Go operator's types
# The most pod sets read from one component. No Kueue holds more than 18, and an object of a
# megabyte can have thousands.
MOST_POD_SETS: Final = 100

# Annotations of a pod set for topology-aware scheduling, as the Go operator's library names them.
TAS_POD_INDEX_LABEL: Final = "workload.codeflare.dev.appwrapper/tas-pod-index-label"
TAS_SUB_GROUP_INDEX_LABEL: Final = "workload.codeflare.dev.appwrapper/tas-sub-group-index-label"
TAS_SUB_GROUP_COUNT: Final = "workload.codeflare.dev.appwrapper/tas-sub-group-count"


class PodSetError(ValueError):
    """Raised if a component's pod sets cannot be determined, with the place and the reason."""


class PodSetPathError(PodSetError):
    """Raised if a path leads to no pod template."""


class AbsentPathError(PodSetPathError):
    """Raised if an object on the path lacks the next field, or is null."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """`replicas` pods of the pod template at `path`.

    `path` is relative to the component (`template.spec.template`). `annotations` are the pod set's
    own, not those of its pods.
    """

    path: str
    replicas: int = 1
    annotations: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return it as in `spec.components[].podSets` and `status.componentStatus[].podSets`."""
        body: dict[str, object] = {"path": self.path, "replicas": self.replicas}
        if self.annotations:
            body["annotations"] = dict(self.annotations)
        return body


def declared_pod_sets(component: JsonObject) -> tuple[PodSet, ...]:
    """Read the component's `podSets`; () if absent, null or empty. Raise PodSetError.

    The paths are not followed: `template_at` does that.
    """
    entries = component.get("podSets")
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise PodSetError("podSets is not an array")
    if len(entries) > MOST_POD_SETS:
        found = f"podSets has {len(entries)} elements"
        raise PodSetError(f"{found}, but at most {MOST_POD_SETS} are read")
    return tuple(_declared(index, entry) for index, entry in enumerate(entries))


def _declared(index: int, entry: object) -> PodSet:
    if not isinstance(entry, dict):
        raise PodSetError(f"podSets[{index}] is not an object")
    path = entry.get("path", "")
    if not isinstance(path, str):
        raise PodSetError(f"podSets[{index}].path is not a string")
    replicas = entry.get("replicas")
    if replicas is None:
        replicas = 1
    elif type(replicas) is not int:  # bool is an int in Python, not in Kubernetes
        raise PodSetError(f"podSets[{index}].replicas is not an integer")
    annotations = entry.get("annotations")
    if annotations is None:
        annotations = {}
    if not isinstance(annotations, dict):
        raise PodSetError(f"podSets[{index}].annotations is not an object")
    texts = {key: value for key, value in annotations.items() if isinstance(value, str)}
    return PodSet(path, replicas, texts)


# Paths of pod templates inside a component, such as `template.spec.template`.
#
# The grammar is the Go operator's, because Kueue follows the same paths: `template` first, then
# `.key` and `[n]`. A path cannot name keys with dots or brackets.

ROOT: Final = "template"
_ELEMENT: Final = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>[^\]]*)\]")
_LONGEST_REMEMBERED: Final = 200  # characters; users can declare paths of any length
_LONGEST_SHOWN: Final = 200
_INDEX: Final = re.compile(r"[0-9]{1,9}")


def template_at(template: JsonObject, path: str) -> JsonObject:
    """Return the pod template at `path` of a component with this `template`; not a copy.

    For a Pod the path is `template`, and the result is the Pod itself. Raise PodSetPathError if the
    path leads nowhere, or to a value without a `spec` object.
    """
    found = value_at(template, path)
    if not isinstance(found, dict):
        raise PodSetPathError(f"{_cut(path)} is {type_of(found)}, not a pod template")
    if not isinstance(found.get("spec"), dict):
        raise PodSetPathError(f"{_cut(path)} has no spec object, so it is not a pod template")
    return found


def value_at(template: JsonObject, path: str) -> JsonValue:
    """Return the value at `path`. Raise PodSetPathError with the place where the path breaks."""
    value: JsonValue = template
    for passed, element in enumerate(elements_of(path)):
        if isinstance(element, int):
            if not isinstance(value, list):
                raise PodSetPathError(f"{_walked(path, passed)} is {type_of(value)}, not an array")
            if element >= len(value):
                raise PodSetPathError(
                    f"{_walked(path, passed)} has {len(value)} elements, so there is no [{element}]"
                )
        elif not isinstance(value, dict):
            error = AbsentPathError if value is None else PodSetPathError
            raise error(f"{_walked(path, passed)} is {type_of(value)}, not an object")
        elif element not in value:
            raise AbsentPathError(f"{_walked(path, passed)} has no field {_cut(element)!r}")
        value = value[element]
    return value


def _walked(path: str, elements: int) -> str:
    """Return, for messages, `path` as far as its first `elements` lead."""
    steps = islice(elements_of(path), elements)
    return _cut(
        ROOT + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in steps)
    )


def elements_of(path: str) -> Iterable[str | int]:
    """Return the keys (str) and indices (int) of `path` after `template`. Raise PodSetPathError.

    Short paths are cached: inferred paths are few and recur.
    """
    return _remembered(path) if len(path) <= _LONGEST_REMEMBERED else _parse(path)


@lru_cache(maxsize=1024)
def _remembered(path: str) -> tuple[str | int, ...]:
    return tuple(_parse(path))


def _parse(path: str) -> Iterator[str | int]:
    if not path.startswith(ROOT):
        raise PodSetPathError(f"the path must start with {ROOT!r}")
    position = len(ROOT)
    while position < len(path):
        match = _ELEMENT.match(path, position)
        if match is None:
            raise PodSetPathError(
                f"after {_cut(path[:position])!r}: "
                f"{_cut(path[position:])!r} is neither '.key' nor '[n]'"
            )
        position = match.end()
        if (key := match["key"]) is not None:
            yield key
        elif _INDEX.fullmatch(match["index"]):
            yield int(match["index"])
        else:
            raise PodSetPathError(
                f"after {_cut(path[: match.start()])!r}: "
                f"index {_cut(match['index'])!r} is not a number from 0"
            )


def _cut(text: str) -> str:
    """Return a user's text, cut to the length that messages show."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


# The fields of an object that decide about its pods. A value of another form is refused, never
# counted as nothing: the Kind's operator may read it in another way.


def optional_at(template: JsonObject, path: str) -> JsonValue:
    """Return the value at `path`; None if it, or an object on the path, is absent or null.

    Raise PodSetPathError if something else than an object is on the path.
    """
    try:
        return value_at(template, path)
    except AbsentPathError:
        return None


def count_at(template: JsonObject, path: str, *, default: int = 1) -> int:
    """Return the number at `path`; `default` if absent or null. Raise PodSetError otherwise."""
    value = optional_at(template, path)
    if value is None:
        return default
    if type(value) is not int:  # bool is an int in Python, not in Kubernetes
        raise PodSetError(f"{path} must be an integer")
    if not 0 <= value <= MAXIMUM_REPLICAS:
        raise PodSetError(f"{path} is {value}: it must be from 0 to {MAXIMUM_REPLICAS}")
    return value


def length_at(template: JsonObject, path: str) -> int:
    """Return the length of the array at `path`; 0 if absent or null.

    Raise PodSetError for any other value, and for more elements than there can be pod sets.
    """
    value = of_type(optional_at(template, path), list, path, PodSetError) or []
    if len(value) > MOST_POD_SETS:
        raise PodSetError(f"{path} has {len(value)} elements, but at most {MOST_POD_SETS} are read")
    return len(value)


def fields_at(template: JsonObject, path: str) -> JsonObject:
    """Return the object at `path`; {} if absent or null.

    Raise PodSetError for any other value, and for more fields than there can be pod sets.
    """
    value = of_type(optional_at(template, path), dict, path, PodSetError) or {}
    if len(value) > MOST_POD_SETS:
        raise PodSetError(f"{path} has {len(value)} fields, but at most {MOST_POD_SETS} are read")
    return value


def value_or_none(template: JsonObject, path: str) -> JsonValue:
    """Return the value at `path`; None also if the path leads nowhere."""
    try:
        return value_at(template, path)
    except PodSetPathError:
        return None


def checked(template: JsonObject, pod_sets: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """Return the same pod sets. Raise PodSetError if one has no pod template or a bad count."""
    for pod_set in pod_sets:
        try:
            template_at(template, pod_set.path)
        except PodSetPathError as error:
            needed = "spec" if pod_set.path == ROOT else pod_set.path.removeprefix(f"{ROOT}.")
            raise PodSetPathError(f"the {template.get('kind')} needs {needed}: {error}") from error
    return bounded(pod_sets)


def bounded(pod_sets: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """Return the same pod sets. Raise PodSetError for a count that no operator could hold."""
    for pod_set in pod_sets:
        if not 0 <= pod_set.replicas <= MAXIMUM_REPLICAS:
            raise PodSetError(
                f"{pod_set.path} would have {pod_set.replicas} replicas: "
                f"the count must be from 0 to {MAXIMUM_REPLICAS}"
            )
    return pod_sets


def nothing(*_read: object) -> Iterator[Any]:
    """Yield nothing, as most Kinds do for most of their readers."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Maker:
    """An object between a component and its pods, which remains if a client orphans it.

    The controller finds it by `label`: LABEL_UID holds the AppWrapper's UID, any other label the
    component's name.
    """

    resource: Resource
    label: str


@dataclass(frozen=True, slots=True)
class Roles:
    """A map from role to pod template, and the exact names of the roles that have pod sets.

    `restart_policies`: defaults that differ from the Kind's default, by apiVersion and role.
    """

    path: str
    counted: tuple[str, ...]
    restart_policies: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexLabel:
    """The label with a pod's index among its owner's pods. A replacement has the same index.

    `role` is the label within whose value an index is unique; empty: within its owner.
    """

    index: str
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One Kind. Paths begin at the component.

    `resource`: how the API server serves it, in the version of which its status is read.
    `granted`: the reason for its rule in the controller's role; Kinds of a group may share it.
    `listed`: the controller may list and watch it.
    `versions`: the API versions in which its pod sets are known.
    `pod_sets`: an object's pod sets in Kueue's order; may raise PodSetError. None: no pods.
    `inferred`: Kueue infers the same pod sets; otherwise the webhook writes them into the spec.
    `pods_by`: the Kind (`group/Kind`) of the next component, which makes the pods of its pod sets.
    `marked`: the metadata of the object that is made of it, which gets the AppWrapper's UID.
    `report`: reads an object's status. None: the status shows no more than its pods.
    `rejections`: reasons of the Events by which its operator rejects an invalid object, if
    its status stays empty.
    `ends`: True: its status reports its end. False: it never ends. None: its pods show an end.
    `progress`: reads the status for its pods and how many it wants by now. None: it wants all.
    `has_surviving_children`: objects that it made remain after its end and replace deleted pods.
    `owns`: what its controllers make for it: pods, makers of pods, and objects deleted with it.
    `finalizes_pods`: a finalizer keeps each pod until the controller has made its replacement.
    `in_background`: it is deleted in the background, because webhooks may reject the update that
    ends a deletion in the foreground.
    `idle_after_end`: once its status reports its end, nothing below it makes pods.
    `unwrapped`: users of teams may create it directly, and Kueue queues it itself.
    `uncounted`: pods, or parts of pods, that a counter misses, apart from the roles beyond `roles`.
    `more_templates`: paths of pod templates without a pod set.
    `pod_labels`: paths of labels that its operator adds to those of the templates.
    `priority_classes`: paths of priority classes besides those of its pods.
    `job_specs`: paths of Job specs: its own, or those of Jobs that it makes.
    `retries`: paths of its other retry counts, each with its default.
    `default_restart_policy`: applies if neither template nor role has a restart policy.
    `left_pods`: the field that decides about pods still running at its end.
    `outlasting`: what else keeps running after its end, or may for longer than the given time.
    """

    resource: Resource
    granted: str
    listed: bool = True
    versions: tuple[str, ...] = ()
    pod_sets: Callable[[JsonObject], tuple[PodSet, ...]] | None = None
    inferred: bool = True
    pods_by: str = ""
    marked: str = ""
    report: Callable[[JsonObject], ComponentReport] | None = None
    rejections: tuple[str, ...] = ()
    ends: bool | None = None
    progress: Callable[[JsonObject], Progress] | None = None
    has_surviving_children: bool = False
    owns: tuple[Resource, ...] = ()
    finalizes_pods: bool = False
    in_background: bool = False
    idle_after_end: bool = False
    makers: tuple[Maker, ...] = ()
    index_label: IndexLabel | None = None
    roles: Roles | None = None
    unwrapped: bool = False
    uncounted: Callable[[JsonObject, Counter], Iterator[Uncounted]] = nothing
    more_templates: tuple[str, ...] = ()
    pod_labels: Callable[[JsonObject], Iterator[str]] = nothing
    priority_classes: tuple[str, ...] = ()
    job_specs: Callable[[JsonObject], Iterator[str]] = nothing
    retries: Callable[[JsonObject], Iterator[tuple[str, int]]] = nothing
    default_restart_policy: str = ""
    left_pods: LeftPods | None = None
    outlasting: Callable[[JsonObject, timedelta], Iterator[Uncounted]] = nothing

    @property
    def group_kind(self) -> str:
        """Return `group/Kind`, or `Kind` in the core group."""
        return self.resource.gvk.group_kind
