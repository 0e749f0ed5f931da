"""How the API server deletes: finalizers, propagation, and the grace period of pods.

A deletion first marks the object; the object disappears without finalizers and without grace.
"""

from datetime import timedelta
from typing import Final

from shared.api.objects import NAMESPACES, PODS, JsonObject, Resource
from shared.api.times import format_time, parse_time
from tests.simulation.api.kinds import JOBS
from tests.simulation.loop import stamp

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_DEFAULT_GRACE: Final = 30
_FINALIZER_OF: Final = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


def begin(
    resource: Resource, item: JsonObject, now: float, propagation: str | None, grace: int | None
) -> bool:
    """Mark `item` as being deleted. Return True if nothing holds the object in the store."""
    meta = item["metadata"]
    remaining = meta.get("deletionGracePeriodSeconds", 0)
    graceful = False
    if "deletionTimestamp" in meta and remaining > 0:
        if grace is None or grace >= remaining:
            return False  # the API server ignores the rest of the request, finalizers too
        _shorten(meta, grace)
        graceful = True
    elif "deletionTimestamp" not in meta and resource == PODS:
        _mark(meta, now, _pod_grace(item, grace))
        graceful = True
    _set_finalizers(resource, meta, propagation)
    if resource == NAMESPACES:
        item.setdefault("status", {})["phase"] = "Terminating"
    held = bool(meta.get("finalizers")) or is_held_namespace(resource, item)
    if not graceful and held and "deletionTimestamp" not in meta:
        _mark(meta, now, 0)
    return not held and not (graceful and meta["deletionGracePeriodSeconds"])


def is_over(resource: Resource, old: JsonObject, new: JsonObject) -> bool:
    """True if the update from `old` to `new` completes a deletion."""
    meta = old["metadata"]
    return (
        "deletionTimestamp" in meta
        and not new["metadata"].get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
        and not is_held_namespace(resource, new)
    )


def is_held_namespace(resource: Resource, item: JsonObject) -> bool:
    """True for a namespace whose contents the namespace controller has not deleted yet."""
    return resource == NAMESPACES and bool((item.get("spec") or {}).get("finalizers"))


def _mark(meta: JsonObject, now: float, grace: int) -> None:
    meta["deletionTimestamp"] = stamp(now + grace)
    meta["deletionGracePeriodSeconds"] = grace
    if "generation" in meta:
        meta["generation"] += 1


def _shorten(meta: JsonObject, grace: int) -> None:
    ends = parse_time(meta["deletionTimestamp"])
    earlier = timedelta(seconds=meta["deletionGracePeriodSeconds"] - grace)
    meta["deletionTimestamp"] = format_time(ends - earlier)
    meta["deletionGracePeriodSeconds"] = grace


def _pod_grace(pod: JsonObject, grace: int | None) -> int:
    """Return the seconds that the pod's kubelet has. A pod that does not run gets none."""
    phase = (pod.get("status") or {}).get("phase")
    if not pod["spec"].get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    if grace is None:
        grace = int(pod["spec"].get("terminationGracePeriodSeconds", _DEFAULT_GRACE))
    return 1 if grace < 0 else grace


def _set_finalizers(resource: Resource, meta: JsonObject, propagation: str | None) -> None:
    """Add or remove the garbage collector's two finalizers."""
    found = list(meta.get("finalizers") or ())
    if propagation is None:
        wanted = next((each for each in (ORPHAN, FOREGROUND) if each in found), None)
        if wanted is None and resource == JOBS:
            wanted = ORPHAN  # the default of batch/v1 only
    else:
        wanted = _FINALIZER_OF.get(propagation)
    finalizers = [each for each in found if each not in (FOREGROUND, ORPHAN) or each == wanted]
    if wanted is not None and wanted not in finalizers:
        finalizers.append(wanted)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
