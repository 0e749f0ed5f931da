"""Add labels, a scheduler and anti-affinities to every pod template.

The webhook turns them into a patch of the submitted object. The controller repeats this on the
objects that it creates, with its current configuration.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final

from shared.api.objects import JsonObject, JsonValue
from shared.injection.anti_affinity import (
    AntiAffinity,
    anti_affinities,
    both,
    requested_resources,
    with_anti_affinity,
)
from shared.injection.fields import InjectionConflict, object_at, object_in, objects_in

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig
    from shared.config.fault_tolerance import Taint

# The grace periods of pods. A kubelet that waits for a pod's end uses the first grace period that
# it received: no API call shortens the wait. A deletion with grace period 0 removes only the
# object. The process keeps its GPU while other workloads get its quota. A pod's limit must
# therefore be in its template from the beginning. The limit applies to probes too: a kubelet that
# restarts a container for a failed probe waits for the probe's grace period, deleted or not.

_FIELD: Final = "terminationGracePeriodSeconds"
_CONTAINERS: Final = ("containers", "initContainers")
_PROBES: Final = ("livenessProbe", "startupProbe")
_DEFAULT: Final = 30  # Kubernetes'
# With 0 the API server removes the object before the node stops the process.
_SHORTEST: Final = 1


@dataclass(frozen=True, slots=True)
class LongGrace:
    """A grace period that is too long, at `path` in a pod template.

    `asked`: the value in the template, or None. `cut`: the seconds that replace it.
    """

    path: str
    asked: JsonValue
    cut: int
    holder: JsonObject


def cap_grace_periods(pod_template: JsonObject, longest: timedelta) -> None:
    """Change `pod_template`, the caller's own copy, if a grace period is too long."""
    for each in long_grace_periods(pod_template, longest):
        each.holder[_FIELD] = each.cut


def long_grace_periods(pod_template: JsonObject, longest: timedelta) -> Iterator[LongGrace]:
    """Yield the grace periods above `longest` of the pod and of its probes.

    A cut is a whole number of seconds, at least one. A probe without a grace period has the pod's.
    A value that is no number is left for the API server.
    """
    cut = max(_SHORTEST, int(longest.total_seconds()))
    for path, holder, default in _with_grace_periods(pod_template):
        asked = holder.get(_FIELD)
        seconds = default if asked is None else asked
        if isinstance(seconds, int | float) and seconds > cut:
            yield LongGrace(f"{path}.{_FIELD}", asked, cut, holder)


def _with_grace_periods(pod_template: JsonObject) -> Iterator[tuple[str, JsonObject, int | None]]:
    """Yield path, object and default of each grace period; ignore malformed parts."""
    spec = pod_template.get("spec")
    if not isinstance(spec, dict):
        return
    yield "spec", spec, _DEFAULT
    for field_name in _CONTAINERS:
        found = spec.get(field_name)
        for index, container in enumerate(found if isinstance(found, list) else ()):
            for name in _PROBES if isinstance(container, dict) else ():
                if isinstance(probe := container.get(name), dict):
                    yield f"spec.{field_name}[{index}].{name}", probe, None


# Merges Kueue's choices for a pod set (its podSetInfo) into its pod template.

_METADATA_MAPS: Final = ("labels", "annotations")


def merge_pod_set_info(pod_template: JsonObject, info: JsonObject, path: str) -> None:
    """Change `pod_template`, which must be the caller's own copy. A second call changes nothing.

    The template's values stay. Raise InjectionConflict if labels, annotations or node selectors
    have different values for one key, since neither side may silently win, or if a field of the
    template has the wrong type. Missing tolerations are added, and missing scheduling gates by
    name.
    """
    metadata = object_in(pod_template, "metadata", path)
    for key in _METADATA_MAPS:
        _merge_map(metadata, key, info, f"{path}.metadata")
    spec, spec_path = pod_template["spec"], f"{path}.spec"
    _merge_map(spec, "nodeSelector", info, spec_path)
    if wanted := info.get("tolerations"):
        present = objects_in(spec, "tolerations", spec_path)
        spec["tolerations"] = present + [each for each in wanted if each not in present]
    if wanted := info.get("schedulingGates"):
        present = objects_in(spec, "schedulingGates", spec_path)
        names = [gate.get("name") for gate in present]
        spec["schedulingGates"] = present + [
            gate for gate in wanted if gate.get("name") not in names
        ]


def _merge_map(target: JsonObject, field: str, info: JsonObject, path: str) -> None:
    wanted = info.get(field) or {}
    if not wanted:
        return
    present = object_in(target, field, path)
    for key, value in wanted.items():
        if present.get(key, value) != value:
            raise InjectionConflict(
                f"{path}.{field}[{key}]: the template has {present[key]!r}, "
                f"the quota was reserved for {value!r}"
            )
    target[field] = {**present, **wanted}


# Additions to pods from the operator's configuration.


@dataclass(frozen=True, slots=True)
class PodDefaults:
    """An empty `scheduler_name` adds nothing; `anti_affinities` are by resource."""

    scheduler_name: str = ""
    anti_affinities: Mapping[str, AntiAffinity] = field(default_factory=dict)

    def anti_affinity_of(self, resources: list[str]) -> AntiAffinity:
        """Merge for a pod that requests all of these resources, each with an anti-affinity."""
        return reduce(both, (self.anti_affinities[each] for each in resources))


def pod_defaults(config: "AppWrapperConfig") -> PodDefaults:
    """Return the defaults, compiled once per configuration: the webhook needs them per request."""
    autopilot = config.autopilot
    taints = autopilot.resource_taints if autopilot.inject_anti_affinities else {}
    weight = autopilot.prefer_no_schedule_weight
    return _compiled(config.scheduler_name, tuple(taints.items()), weight)


@lru_cache(maxsize=8)
def _compiled(
    scheduler_name: str, taints: tuple[tuple[str, tuple["Taint", ...]], ...], weight: int
) -> PodDefaults:
    return PodDefaults(scheduler_name, anti_affinities(dict(taints), weight))


TemplatePath = tuple[str, ...]


def missing_fields(
    pod_template: JsonObject, labels: Mapping[str, str], defaults: PodDefaults, path: str
) -> Iterator[tuple[TemplatePath, JsonValue]]:
    """Yield the keys down to each field to set, and its value.

    `labels` replace others of the same key, a named scheduler stays, affinities are extended.
    `pod_template` has a `spec` object, and is not changed. Raise InjectionConflict for a field of
    the wrong type. `path` is the template's.
    """
    metadata = object_at(pod_template, "metadata", path)
    present = object_at(metadata, "labels", f"{path}.metadata")
    for key, value in labels.items():
        if present.get(key) != value:
            yield ("metadata", "labels", key), value
    spec = pod_template["spec"]
    if defaults.scheduler_name and not spec.get("schedulerName"):
        yield ("spec", "schedulerName"), defaults.scheduler_name
    if not defaults.anti_affinities:
        return
    here = f"{path}.spec"
    if resources := requested_resources(spec, defaults.anti_affinities, here):
        affinity = object_at(spec, "affinity", here)
        wanted = defaults.anti_affinity_of(resources)
        extended = with_anti_affinity(affinity, wanted, f"{here}.affinity")
        if extended is not affinity:
            yield ("spec", "affinity"), extended


def fill_in(
    pod_template: JsonObject, labels: Mapping[str, str], defaults: PodDefaults, path: str
) -> None:
    """Change `pod_template`, which must be the caller's own copy. Raise InjectionConflict.

    A second call changes nothing.
    """
    for (*parents, key), value in list(missing_fields(pod_template, labels, defaults, path)):
        place = pod_template
        for parent in parents:
            if place.get(parent) is None:
                place[parent] = {}
            place = place[parent]
        place[key] = value
