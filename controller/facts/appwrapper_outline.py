"""An AppWrapper as the controller remembers it: the fields that decisions read, as JSON text.

A user may create any number of suspended AppWrappers of a megabyte each. A decoded one needs up to
22 times its size, nearly all of it for templates, which only the creation of components reads. So
the outline has no templates. The rest remains text, which is never larger than the stored object.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

import orjson

from controller.facts.assigned_nodes import TOPOLOGY, topology_workload
from controller.facts.component_status import kind_of, pod_sets_of
from controller.facts.kept_components import MAY_HAVE_PODS, may_have_pods
from controller.facts.phase_times import phase_began
from controller.facts.unused_quota import unused_since
from controller.phases.phase import Phase
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition, is_true
from shared.api.names import CONDITION_DELETING_RESOURCES, CONDITION_RESOURCES_DEPLOYED, GROUP
from shared.api.objects import GroupVersionKind, JsonObject, JsonValue
from shared.api.pod_requests import containers_requests
from shared.kinds.kind import MOST_POD_SETS, PodSetError, template_at
from shared.kinds.table import component_pod_sets

_METADATA: Final = (
    "namespace",
    "name",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
)
# The prefixes of the kept labels and annotations: this project's, the Go operator's, Kueue's.
_READ: Final = (GROUP, "kueue.x-k8s.io/")
_REQUESTED: Final = "requested"


@dataclass(frozen=True, slots=True)
class Outline:
    """An AppWrapper as the controller remembers it. Each pass decodes its text.

    Other readers use the fields beside the text. `waits_in`: namespace and name of the LocalQueue
    while it is Suspended. `phase_since`: when it entered its phase (phase_times.py), in seconds
    since the epoch, as `unused_since` (unused_quota.py). `deletion_blocked`: something blocks the
    deletion of its resources. `deleting`: its own deletion was requested. `suspend`: its spec's.
    `requested`: how much of each measured resource its pods request.
    `kinds`: of its components while they exist; AppWrappers with the same Kinds share the tuple.
    """

    uid: str
    phase: str
    is_ours: bool
    text: bytes
    waits_in: tuple[str, str] | None = None
    phase_since: float | None = None
    unused_since: float | None = None
    deletion_blocked: bool = False
    deleting: bool = False
    suspend: bool = False
    requested: tuple[tuple[str, float], ...] = ()
    kinds: tuple[GroupVersionKind, ...] = ()

    @property
    def runs(self) -> bool:
        """True if a failure of a pod would be answered."""
        return self.phase in (Phase.RESUMING, Phase.RUNNING) and not self.deleting

    def read(self) -> AppWrapper:
        """Decode the text. The components' templates have only their Kinds and names."""
        return AppWrapper(orjson.loads(self.text))


def project_appwrapper(raw: JsonObject, resources: Collection[str] = ()) -> Outline:
    """Return the outline. `resources`: those whose requested amounts are measured."""
    try:
        outline = outlined(raw, resources)
    except Exception:  # noqa: BLE001  one unforeseen template must not stop the informer
        outline = raw  # the AppWrapper's pass reports the error
    appwrapper = AppWrapper(raw)
    began = phase_began(appwrapper)
    return Outline(
        uid=appwrapper.uid,
        phase=str(appwrapper.status.get("phase") or ""),
        is_ours=appwrapper.is_ours,
        text=_as_text(outline),
        waits_in=_waits_in(appwrapper),
        phase_since=None if began is None else began.timestamp(),
        unused_since=unused_since(appwrapper),
        deletion_blocked=_is_deletion_blocked(appwrapper),
        deleting=appwrapper.deletion_requested,
        suspend=appwrapper.suspend,
        requested=tuple(requested(AppWrapper(outline)).items()),
        kinds=_kinds(appwrapper),
    )


def _is_deletion_blocked(appwrapper: AppWrapper) -> bool:
    deleting = condition(appwrapper.conditions, CONDITION_DELETING_RESOURCES) or {}
    found = deleting.get("status"), deleting.get("reason")
    return found == ("True", Reason.DELETION_BLOCKED)


def _waits_in(appwrapper: AppWrapper) -> tuple[str, str] | None:
    queue = appwrapper.queue_name
    waits = appwrapper.status.get("phase") == Phase.SUSPENDED and appwrapper.is_ours
    return (appwrapper.namespace, queue) if waits and queue else None


def _kinds(appwrapper: AppWrapper) -> tuple[GroupVersionKind, ...]:
    """Return none of an AppWrapper that waits or has ended: users can name any Kind.

    None either of one that runs in another cluster.
    """
    deployed = is_true(appwrapper.conditions, CONDITION_RESOURCES_DEPLOYED)
    if not (appwrapper.is_ours and deployed):
        return ()
    recorded = [each for each in appwrapper.component_statuses if each.get("name")]
    return _shared(tuple(dict.fromkeys(map(kind_of, recorded))))


@lru_cache(maxsize=100)
def _shared(kinds: tuple[GroupVersionKind, ...]) -> tuple[GroupVersionKind, ...]:
    """Return the one tuple of equal ones, so that each outline needs a reference only."""
    return kinds


def outlined(raw: JsonObject, resources: Collection[str] = ()) -> JsonObject:
    """Return a small copy on which every decision is the same. Never write it to the API server.

    A component keeps its annotations, its Kind and name, and the number of its podSetInfos, which
    are empty. It declares the pod sets that Kueue infers. Add here every field that a new decision
    reads.
    """
    metadata: JsonObject = raw["metadata"]
    spec: JsonObject = raw.get("spec") or {}
    components: list[JsonObject] = spec.get("components") or []
    kept: JsonObject = {key: metadata[key] for key in _METADATA if key in metadata}
    for key in ("labels", "annotations"):
        if found := _read_ones(metadata.get(key)):
            kept[key] = found
    return {
        "metadata": kept,
        "spec": {**spec, "components": [_component(each) for each in components]},
        "status": raw.get("status") or {},
        _REQUESTED: requested_amounts(components, resources) if resources else {},
    }


def component_texts(raw: JsonObject) -> tuple[bytes, ...]:
    """Return the whole components as text, which needs little memory while they are created."""
    return tuple(map(_as_text, AppWrapper(raw).components))


def requested(appwrapper: AppWrapper) -> dict[str, float]:
    """Return the result of `requested_amounts` that an outline keeps."""
    amounts: dict[str, float] = appwrapper.raw.get(_REQUESTED) or {}
    return amounts


def _component(whole: JsonObject) -> JsonObject:
    template, pod_sets = whole.get("template"), pod_sets_of(whole)
    outline: JsonObject = {
        "template": _named(template) if isinstance(template, dict) else {},
        MAY_HAVE_PODS: bool(pod_sets) or may_have_pods(whole),
    }
    if annotations := _read_ones(whole.get("annotations")):
        outline["annotations"] = annotations
    if pod_sets:
        outline["podSets"] = pod_sets
    if infos := whole.get("podSetInfos"):
        # Only their number is compared with that of the pod sets, which has this limit.
        outline["podSetInfos"] = [{}] * min(len(infos), MOST_POD_SETS + 1)
        if workload := topology_workload(whole):
            outline[TOPOLOGY] = workload
    return outline


def _named(template: JsonObject) -> JsonObject:
    """Return apiVersion, Kind and names. The schema already requires texts."""
    metadata = template.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    return {
        **_some(template, ("apiVersion", "kind")),
        "metadata": _some(names, ("name", "generateName")),
    }


def _some(values: Mapping[str, JsonValue], keys: Collection[str]) -> JsonObject:
    return {key: values[key] for key in keys if isinstance(values.get(key), str)}


def _read_ones(texts: Mapping[str, str] | None) -> dict[str, str]:
    return {key: text for key, text in texts.items() if key.startswith(_READ)} if texts else {}


def _as_text(outline: JsonObject) -> bytes:
    try:
        return orjson.dumps(outline)
    except orjson.JSONEncodeError:  # nested too deep for orjson, as a status may be
        return json.dumps(outline).encode()


# How much of a resource an AppWrapper's pods request, by their templates.

_NOTHING: Final = Decimal(0)
# No cluster has as much: such an AppWrapper never runs, and would spoil every sum.
_ABSURD: Final = Decimal(10) ** 9


def requested_amounts(
    components: Iterable[JsonObject], resources: Collection[str]
) -> dict[str, float]:
    """Return the sum of requests times replicas, by those of `resources` that pods request.

    For a metric: unreadable amounts count as nothing, and are rejected elsewhere.
    """
    total = dict.fromkeys(resources, _NOTHING)
    for component in components:
        for template, replicas in _pod_templates(component):
            requested = containers_requests(template["spec"])
            for name in total:
                total[name] += requested.get(name, _NOTHING) * replicas
    return {name: float(amount) for name, amount in total.items() if 0 < amount < _ABSURD}


def _pod_templates(component: JsonObject) -> Iterable[tuple[JsonObject, int]]:
    try:
        for pod_set in component_pod_sets(component):
            yield template_at(component.get("template") or {}, pod_set.path), pod_set.replicas
    except PodSetError:
        return
