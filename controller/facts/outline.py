"""An AppWrapper as the controller remembers it: what decisions read, as JSON text.

Anybody in a team may create AppWrappers of a megabyte, suspended, as many as they like. Decoded,
each takes up to 22 times its size, nearly all of it for templates, which only the creation of
components reads. So templates are left out here, and the rest is kept as text, which is no larger
than what was stored, whatever a user wrote into it.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Final

import orjson

from controller.facts.components import MAY_HAVE_PODS, may_have_pods
from controller.facts.own_status import Outline, standing_of
from controller.facts.placement import topology_outline
from controller.facts.suspects import blames_of
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.api.names import GROUP
from shared.api.objects import JsonObject, JsonValue
from shared.api.pod_requests import requested_of
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
# Of labels and annotations, those whose names begin so: ours, the Go operator's and Kueue's.
_READ: Final = (GROUP, "kueue.x-k8s.io/")
_REQUESTED: Final = "requested"


def project_appwrapper(raw: JsonObject, resources: Collection[str] = ()) -> Outline:
    """`resources` are those whose requested amounts are measured."""
    try:
        outline = outlined(raw, resources)
    except Exception:  # noqa: BLE001  else one template that nobody foresaw ends the informer of all
        outline = raw  # and a pass over it says what is wrong
    appwrapper = AppWrapper(raw)
    return Outline(
        uid=appwrapper.uid,
        phase=str(appwrapper.status.get("phase") or ""),
        is_ours=appwrapper.is_ours,
        text=_as_text(outline),
        blames=blames_of(appwrapper),
        standing=standing_of(appwrapper),
        waits_in=_waits_in(appwrapper),
    )


def _waits_in(appwrapper: AppWrapper) -> tuple[str, str] | None:
    queue = appwrapper.queue_name
    waits = appwrapper.status.get("phase") == Phase.SUSPENDED and appwrapper.is_ours
    return (appwrapper.namespace, queue) if waits and queue else None


def outlined(raw: JsonObject, resources: Collection[str] = ()) -> JsonObject:
    """A small copy, on which every decision is the same. It must never be written back.

    A component keeps its annotations, its Kind and name, and as many podSetInfos as it has, empty.
    It declares the pod sets that Kueue infers. A decision that reads more needs it kept here.
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
    """Each component whole. For creating them: that takes requests, meanwhile text is small."""
    return tuple(map(_as_text, AppWrapper(raw).components))


def requested(appwrapper: AppWrapper) -> dict[str, float]:
    """Of an outline: what `requested_amounts` said of the whole."""
    amounts: dict[str, float] = appwrapper.raw.get(_REQUESTED) or {}
    return amounts


def _component(whole: JsonObject) -> JsonObject:
    template, pod_sets = whole.get("template"), _pod_sets(whole)
    outline: JsonObject = {
        "template": _named(template) if isinstance(template, dict) else {},
        MAY_HAVE_PODS: bool(pod_sets) or may_have_pods(whole),
    }
    if annotations := _read_ones(whole.get("annotations")):
        outline["annotations"] = annotations
    if pod_sets:
        outline["podSets"] = pod_sets
    if infos := whole.get("podSetInfos"):
        # Only their number is compared, with that of pod sets, of which no more are ever read.
        outline["podSetInfos"] = [{}] * min(len(infos), MOST_POD_SETS + 1)
        if any(each.get("schedulingGates") for each in infos):
            outline |= topology_outline(whole)
    return outline


def _pod_sets(component: JsonObject) -> list[JsonObject]:
    """Of one whose pod sets cannot be told: none, as everywhere. Creating it says why."""
    try:
        return [each.as_json() for each in component_pod_sets(component)]
    except PodSetError:
        return []


def _named(template: JsonObject) -> JsonObject:
    """The API server sees to it that all of these are texts."""
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
    except orjson.JSONEncodeError:  # nested deeper than it can follow, as a status may be
        return json.dumps(outline).encode()


# How much of a resource an AppWrapper's pods ask for, by their templates.

_NOTHING: Final = Decimal(0)
# No cluster has as much: it never ran, and would spoil every sum that it got into.
_ABSURD: Final = Decimal(10) ** 9


def requested_amounts(
    components: Iterable[JsonObject], resources: Collection[str]
) -> dict[str, float]:
    """Of each of `resources` that their pods ask for: that of one pod times replicas, summed.

    For a metric: what cannot be read counts as nothing, and is refused elsewhere.
    """
    total = dict.fromkeys(resources, _NOTHING)
    for component in components:
        for template, replicas in _pod_templates(component):
            for name in total:
                total[name] += requested_of(template["spec"], name) * replicas
    return {name: float(amount) for name, amount in total.items() if 0 < amount < _ABSURD}


def _pod_templates(component: JsonObject) -> Iterable[tuple[JsonObject, int]]:
    try:
        for pod_set in component_pod_sets(component):
            yield template_at(component.get("template") or {}, pod_set.path), pod_set.replicas
    except PodSetError:
        return
