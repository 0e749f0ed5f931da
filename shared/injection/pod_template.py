"""What every pod template gets: labels, a scheduler, anti-affinities. The same for both binaries.

The webhook turns it into a patch of what a user submits; the controller does it again, with the
configuration of the day, to what it creates.
"""

from collections.abc import Iterator, Mapping

from shared.api.json import JsonObject, JsonValue
from shared.injection.anti_affinity import with_anti_affinity
from shared.injection.fields import object_at
from shared.injection.pod_defaults import PodDefaults
from shared.injection.requested_resources import requested_resources

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
