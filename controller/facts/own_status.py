"""What an AppWrapper itself says: its spec, its annotations and the status that we wrote."""

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final

from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, PodSetInfos, Snapshot, Timers, Told
from controller.phases.timers import Stamp, decode_timers, unless_ahead
from shared.annotations import TABLE
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import transition_time, true_types
from shared.api.names import CONDITION_RESOURCES_DEPLOYED
from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import LONGEST_EXTENSION

# An AppWrapper as the controller remembers it: whole, since components are created from it.

# Each is about as large as the spec, and nothing is ever decided on them.
_UNREAD_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"


def project_appwrapper(raw: JsonObject) -> JsonObject:
    """The object without what only other writers read. It must never be written back whole."""
    metadata = {key: value for key, value in raw["metadata"].items() if key != "managedFields"}
    annotations = metadata.get("annotations")
    if annotations and _UNREAD_ANNOTATION in annotations:
        metadata["annotations"] = {
            key: value for key, value in annotations.items() if key != _UNREAD_ANNOTATION
        }
    return {**raw, "metadata": metadata}


# How long one AppWrapper pauses between two attempts.
#
# What failed together, by an outage of a file system say, would start again together. Each
# AppWrapper's pause is therefore up to a tenth longer, by chance that is the same at every look.

_DIGEST_SIZE: Final = 4  # bytes
_LARGEST: Final = 2 ** (8 * _DIGEST_SIZE) - 1


def spread_out(pause: timedelta, uid: str, attempt: int) -> timedelta:
    """`pause` and up to a tenth of it; no pause stays none."""
    digest = blake2b(f"{uid}/{attempt}".encode(), digest_size=_DIGEST_SIZE).digest()
    share = int.from_bytes(digest, "big") / _LARGEST
    return pause + share * LONGEST_EXTENSION * pause


# The operator's configuration and an AppWrapper's annotations, as effective values.
#
# The webhook warns of and refuses bad values; whatever it let pass is put within its limits here
# (specification 1).


def effective_fault_tolerance(appwrapper: AppWrapper, config: AppWrapperConfig) -> FaultTolerance:
    """Malformed values mean the default, negative ones zero, too large ones the limit.

    The pause between this attempt and the next is spread out a little beyond that.
    """
    annotations, defaults = appwrapper.annotations, config.fault_tolerance
    values: dict[str, Any] = {
        each.sets: each.read(annotations, defaults) for each in TABLE if each.sets
    }
    effective = FaultTolerance(
        **values,
        stability_period=config.stability_period,
        settle_period=config.settle_period,
        flap_period=config.flap_period,
    )
    asked = effective.retry_pause
    pause = spread_out(asked, appwrapper.uid, appwrapper.attempt)
    return replace(effective, retry_pause=pause, asked_retry_pause=asked)


def own_words(appwrapper: AppWrapper, now: datetime) -> Snapshot:
    """A Snapshot without anything that others have to say.

    A phase that nobody knows means: remove what may be there, and begin anew.
    """
    status = appwrapper.status
    known = known_phase(appwrapper)
    phase = Phase.SUSPENDING if known is None else known
    stamp = Stamp(status.get("phase") or "", appwrapper.attempt, appwrapper.retries)
    timers = decode_timers(status.get("timers") or {}, stamp, now)
    return Snapshot(
        phase=phase,
        suspend=appwrapper.suspend,
        deletion_requested=appwrapper.deletion_requested,
        finalizer=appwrapper.has_our_finalizer,
        queued=bool(appwrapper.queue_name),
        planned=_is_planned(appwrapper),
        pod_set_infos=_pod_set_infos(appwrapper),
        conditions=true_types(appwrapper.conditions),
        told={str(each.get("type")): _told(each) for each in appwrapper.conditions},
        retries=appwrapper.retries,
        timers=_with_success(timers, appwrapper, now) if phase is Phase.SUCCEEDED else timers,
    )


def _told(condition: JsonObject) -> Told:
    return Told(condition.get("reason") or "", condition.get("message") or "")


def known_phase(appwrapper: AppWrapper) -> Phase | None:
    """The phase that its status names; None where that is none of ours."""
    try:
        return Phase(appwrapper.status.get("phase") or "")
    except ValueError:
        return None


def _is_planned(appwrapper: AppWrapper) -> bool:
    recorded = appwrapper.component_statuses
    return (
        appwrapper.attempt > 0
        and len(recorded) == len(appwrapper.components)
        and all(each.get("name") for each in recorded)
    )


def _with_success(timers: Timers, appwrapper: AppWrapper, now: datetime) -> Timers:
    """The TTL of one that succeeded under another operator began when ResourcesDeployed changed."""
    if timers.success is not None:
        return timers
    since = transition_time(appwrapper.conditions, CONDITION_RESOURCES_DEPLOYED)
    return replace(timers, success=unless_ahead(since, now))


def _pod_set_infos(appwrapper: AppWrapper) -> PodSetInfos:
    infos = [len(component.get("podSetInfos") or ()) for component in appwrapper.components]
    pod_sets = [len(recorded.get("podSets") or ()) for recorded in appwrapper.component_statuses]
    if infos == pod_sets:
        return PodSetInfos.COMPLETE
    return PodSetInfos.MISMATCHED if any(infos) else PodSetInfos.ABSENT
