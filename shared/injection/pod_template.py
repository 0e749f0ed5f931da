"""What every pod template gets: labels, a scheduler, anti-affinities. The same for both binaries.

The webhook turns it into a patch of what a user submits; the controller does it again, with the
configuration of the day, to what it creates.
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

# How long a pod may take to end once it is asked to.
#
# A kubelet that has begun to wait for a pod's end waits for as long as it was told first: nothing
# that the API offers ends the wait early. Deleting the pod with grace period 0 removes the object
# alone, and the process keeps its GPU while its quota is given to others. So what shall be over
# after a time has to be told that time from the beginning.

FIELD: Final = "terminationGracePeriodSeconds"
_DEFAULT: Final = 30  # Kubernetes'
# With 0 the API server removes the object without word from the node.
_SHORTEST: Final = 1


def cap_grace_period(pod_template: JsonObject, longest: timedelta) -> None:
    """Changes `pod_template`, the caller's own copy, where its pods would take longer."""
    spec = pod_template["spec"]
    cut = capped_grace_period(spec.get(FIELD), longest)
    if cut is not None:
        spec[FIELD] = cut


def capped_grace_period(asked: JsonValue, longest: timedelta) -> int | None:
    """The seconds that pods get instead of `asked`; None where that is short enough.

    Whole seconds, and at least one. What is no number is left for the API server to refuse.
    """
    seconds = _DEFAULT if asked is None else asked
    cap = max(_SHORTEST, int(longest.total_seconds()))
    return cap if isinstance(seconds, int) and seconds > cap else None


# Merging what Kueue chose for a pod set (its podSetInfo) into the pod template of that pod set.

_METADATA_MAPS: Final = ("labels", "annotations")


def merge_pod_set_info(pod_template: JsonObject, info: JsonObject, path: str) -> None:
    """Changes `pod_template`, which must be the caller's own copy. Doing it twice changes nothing.

    Values of the template are kept. Labels, annotations and node selectors that say something else
    under the same key raise InjectionConflict: neither side may silently win. So does a field of
    the template that is of another type than it must be. Tolerations are added where missing,
    scheduling gates by name.
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


# What the operator's configuration adds to pods.


@dataclass(frozen=True, slots=True)
class PodDefaults:
    """`scheduler_name` empty adds nothing; `anti_affinities` are by resource."""

    scheduler_name: str = ""
    anti_affinities: Mapping[str, AntiAffinity] = field(default_factory=dict)

    def anti_affinity_of(self, resources: list[str]) -> AntiAffinity:
        """For a pod that asks for all of these, each of which has an anti-affinity."""
        return reduce(both, (self.anti_affinities[each] for each in resources))


def pod_defaults(config: "AppWrapperConfig") -> PodDefaults:
    """Compiled once for each configuration, as the webhook asks at every request."""
    autopilot = config.autopilot
    taints = autopilot.resource_taints if autopilot.inject_anti_affinities else {}
    weight = autopilot.prefer_no_schedule_weight
    return _compiled(config.scheduler_name, tuple(taints.items()), weight)


@lru_cache(maxsize=8)
def _compiled(
    scheduler_name: str, taints: tuple[tuple[str, tuple["Taint", ...]], ...], weight: int
) -> PodDefaults:
    return PodDefaults(scheduler_name, anti_affinities(dict(taints), weight))


Place = tuple[str, ...]


def missing_fields(
    pod_template: JsonObject, labels: Mapping[str, str], defaults: PodDefaults, path: str
) -> Iterator[tuple[Place, JsonValue]]:
    """The keys down to each field that is not as it should be, and the value it should have.

    `labels` win over others of the same key; a scheduler that is named stays; affinities are
    extended. `pod_template` has a `spec` object, and is not written to. Raises InjectionConflict
    for a field of another type than it must be. `path` is the template's.
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
    """Changes `pod_template`, which must be the caller's own copy. Raises InjectionConflict.

    Doing it twice changes nothing.
    """
    for (*parents, key), value in list(missing_fields(pod_template, labels, defaults, path)):
        place = pod_template
        for parent in parents:
            if place.get(parent) is None:
                place[parent] = {}
            place = place[parent]
        place[key] = value
