"""Merging what Kueue chose for a pod set (its podSetInfo) into the pod template of that pod set."""

from typing import Final

from shared.api.json import JsonObject
from shared.injection.conflict import InjectionConflict

_METADATA_MAPS: Final = ("labels", "annotations")


def merge_pod_set_info(pod_template: JsonObject, info: JsonObject, path: str) -> None:
    """Changes `pod_template`, which must be the caller's own copy. Doing it twice changes nothing.

    Values of the template are kept. Labels, annotations and node selectors that say something else
    under the same key raise InjectionConflict: neither side may silently win. Tolerations are
    added where missing, scheduling gates by name.
    """
    for field in _METADATA_MAPS:
        _merge_map(pod_template.setdefault("metadata", {}), field, info, f"{path}.metadata.{field}")
    spec = pod_template["spec"]
    _merge_map(spec, "nodeSelector", info, f"{path}.spec.nodeSelector")
    _append_missing(spec, "tolerations", info.get("tolerations") or ())
    present = {gate.get("name") for gate in spec.get("schedulingGates") or ()}
    gates = info.get("schedulingGates") or ()
    _append_missing(
        spec, "schedulingGates", [gate for gate in gates if gate.get("name") not in present]
    )


def _merge_map(target: JsonObject, field: str, info: JsonObject, path: str) -> None:
    wanted = info.get(field) or {}
    if not wanted:
        return
    present = target.get(field) or {}
    for key, value in wanted.items():
        if present.get(key, value) != value:
            raise InjectionConflict(
                f"{path}[{key}]: the template says {present[key]!r}, "
                f"the quota was reserved for {value!r}"
            )
    target[field] = {**present, **wanted}


def _append_missing(
    spec: JsonObject, field: str, wanted: tuple[JsonObject, ...] | list[JsonObject]
) -> None:
    present = list(spec.get(field) or ())
    missing = [each for each in wanted if each not in present]
    if missing:
        spec[field] = present + missing
