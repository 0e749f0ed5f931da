"""Merging what Kueue chose for a pod set (its podSetInfo) into the pod template of that pod set."""

from typing import Final

from shared.api.json import JsonObject
from shared.injection.conflict import InjectionConflict
from shared.injection.fields import object_in, objects_in

_METADATA_MAPS: Final = ("labels", "annotations")


def merge_pod_set_info(pod_template: JsonObject, info: JsonObject, path: str) -> None:
    """Changes `pod_template`, which must be the caller's own copy. Doing it twice changes nothing.

    Values of the template are kept. Labels, annotations and node selectors that say something else
    under the same key raise InjectionConflict: neither side may silently win. So does a field of
    the template that is of another type than it must be. Tolerations are added where missing,
    scheduling gates by name.
    """
    metadata = object_in(pod_template, "metadata", path)
    for field in _METADATA_MAPS:
        _merge_map(metadata, field, info, f"{path}.metadata")
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
                f"{path}.{field}[{key}]: the template says {present[key]!r}, "
                f"the quota was reserved for {value!r}"
            )
    target[field] = {**present, **wanted}
