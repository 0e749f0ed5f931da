"""Facts in the AppWrapper itself: spec, annotations and the status that the controller wrote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final

import orjson

from controller.facts.placement import TOPOLOGY
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    ConditionText,
    FaultTolerance,
    PodSetInfos,
    Snapshot,
    Timers,
)
from controller.phases.timers import Stamp, decode_timers, unless_ahead
from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from shared.annotations import LONGEST_POD_GRACE, table_for
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition, is_true, transition_time, true_types
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.api.objects import JsonObject
from shared.api.times import parse_time
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import LONGEST_EXTENSION


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """Since when an AppWrapper waits for quota, or holds quota without its pods.

    Moments are in seconds since the epoch; None: it does not. `deletion_blocked`: something blocks
    the deletion of its resources.
    """

    waits_since: float | None = None
    unused_since: float | None = None
    deletion_blocked: bool = False


def wait_times_of(appwrapper: AppWrapper) -> WaitTimes:
    """Read everything from the stored status, so that a controller restart changes nothing.

    Quota is unused since its grant, or since too few pods ran, whichever is later.
    """
    conditions = appwrapper.conditions
    phase = str(appwrapper.status.get("phase") or "")
    waits = phase in _WAITING and not appwrapper.deletion_requested
    unused = is_true(conditions, CONDITION_QUOTA_RESERVED) and not is_true(
        conditions, CONDITION_PODS_READY
    )
    quota, unready = (
        _seconds(transition_time(conditions, kind))
        for kind in (CONDITION_QUOTA_RESERVED, CONDITION_PODS_READY)
    )
    moments = [each for each in (quota, unready) if each is not None]
    deleting = condition(conditions, CONDITION_DELETING_RESOURCES) or {}
    return WaitTimes(
        waits_since=(quota or _created(appwrapper)) if waits else None,
        unused_since=max(moments, default=None) if unused else None,
        deletion_blocked=(deleting.get("status"), deleting.get("reason"))
        == ("True", Reason.DELETION_BLOCKED),
    )


_WAITING: Final = (Phase.EMPTY, Phase.SUSPENDED)


def _created(appwrapper: AppWrapper) -> float | None:
    text = appwrapper.metadata.get("creationTimestamp")
    return parse_time(text).timestamp() if text else None


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


@dataclass(frozen=True, slots=True)
class Outline:
    """An AppWrapper as the controller remembers it. Each pass decodes its text.

    Other readers use the fields beside the text. `wait_times` are for metrics. `waits_in`:
    namespace and name of the LocalQueue while it is Suspended.
    `phase_since`: when it entered its phase, in seconds since the epoch (phase_times.py).
    `requested`: how much of each measured resource its pods request.
    """

    uid: str
    phase: str
    is_ours: bool
    text: bytes
    wait_times: WaitTimes = WaitTimes()
    waits_in: tuple[str, str] | None = None
    phase_since: float | None = None
    requested: tuple[tuple[str, float], ...] = ()

    def read(self) -> AppWrapper:
        """Decode the text. The components' templates have only their Kinds and names."""
        return AppWrapper(orjson.loads(self.text))


# How long one AppWrapper pauses between two attempts.
#
# Workloads that fail together, for example by a file system outage, would restart together. So each
# pause is up to a tenth longer, by a hash that is the same in every pass.

_DIGEST_SIZE: Final = 4  # bytes
_LARGEST: Final = 2 ** (8 * _DIGEST_SIZE) - 1


def spread_out(pause: timedelta, uid: str, attempt: int) -> timedelta:
    """Return `pause` plus up to a tenth of it; a zero pause remains zero."""
    digest = blake2b(f"{uid}/{attempt}".encode(), digest_size=_DIGEST_SIZE).digest()
    share = int.from_bytes(digest, "big") / _LARGEST
    return pause + share * LONGEST_EXTENSION * pause


# The operator's configuration and an AppWrapper's annotations, as effective values.
#
# The webhook warns of bad values or rejects them. The controller limits the remaining ones here.


def effective_fault_tolerance(appwrapper: AppWrapper, config: AppWrapperConfig) -> FaultTolerance:
    """Return the effective values: the default for malformed ones, zero for negative ones.

    A value that is too large becomes the limit. `spread_out` then extends the pause.
    """
    annotations, defaults = appwrapper.annotations, config.fault_tolerance
    table = table_for(appwrapper.labels, is_being_deleted=appwrapper.deletion_requested)
    values: dict[str, Any] = {each.sets: each.read(annotations, defaults) for each in table}
    effective = FaultTolerance(
        **values,
        stability_period=config.stability_period,
        settle_period=config.settle_period,
        flap_period=config.flap_period,
        remember_suspects=config.suspect_nodes != "Off",
        record_settle=defaults.error_aggregation.settle_period,
        store_timeout=defaults.error_aggregation.read_timeout,
    )
    asked = effective.retry_pause
    pause = spread_out(asked, appwrapper.uid, appwrapper.attempt)
    longest = LONGEST_POD_GRACE.read(annotations, defaults)
    return replace(effective, retry_pause=pause, asked_retry_pause=asked, longest_pod_grace=longest)


def read_status(
    appwrapper: AppWrapper, now: datetime, reported: Mapping[str, ConditionReport] | None = None
) -> Snapshot:
    """Return a Snapshot of the AppWrapper alone, without facts from other objects.

    `reported`: the last reports that this process wrote, by condition. One whose text is not the
    stored one counts no more: a later write took effect, and its answer was lost.

    An unknown phase counts as Suspending: delete all objects that may exist, then start again.
    """
    status = appwrapper.status
    known = known_phase(appwrapper)
    phase = Phase.SUSPENDING if known is None else known
    stamp = Stamp(status.get("phase") or "", appwrapper.attempt, appwrapper.retries)
    timers = decode_timers(status.get("timers") or {}, stamp, now)
    told = {str(each.get("type")): _told(each) for each in appwrapper.conditions}
    return Snapshot(
        phase=phase,
        suspend=appwrapper.suspend,
        deletion_requested=appwrapper.deletion_requested,
        finalizer=appwrapper.has_our_finalizer,
        queued=bool(appwrapper.queue_name),
        topology_workload=_topology_workload(appwrapper.components),
        planned=_is_planned(appwrapper),
        pod_set_infos=_pod_set_infos(appwrapper),
        conditions=true_types(appwrapper.conditions),
        told=told,
        reported={
            condition: report
            for condition, report in (reported or {}).items()
            if condition in told and told[condition].message == report.text()
        },
        waits_since=_waits_since(phase, appwrapper.conditions, now),
        retries=appwrapper.retries,
        timers=_as_taken_over(timers, phase, appwrapper.conditions, now),
    )


def _waits_since(phase: Phase, conditions: Sequence[JsonObject], now: datetime) -> datetime | None:
    if phase is not Phase.SUSPENDED or is_true(conditions, CONDITION_QUOTA_RESERVED):
        return None
    return unless_ahead(transition_time(conditions, CONDITION_QUOTA_RESERVED), now)


def _told(each: JsonObject) -> ConditionText:
    return ConditionText(each.get("reason") or "", each.get("message") or "")


def known_phase(appwrapper: AppWrapper) -> Phase | None:
    """Return the phase in the status; None if the controller does not know it."""
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


# When a period began under another operator: its conditions show it, as it keeps no timers.
#
# The controller writes a condition and its timer together. If the status has a timer, periods
# without a timer do not run: between the stages of a JobSet PodsReady is False without a period.

_DELETION_PAUSED: Final = "DeletionPaused"  # the Go operator's, while it waits in Failed


def _as_taken_over(
    timers: Timers, phase: Phase, conditions: Sequence[JsonObject], now: datetime
) -> Timers:
    """Return the timers; without any, those that the conditions imply."""
    if timers != Timers():
        return timers
    told = {
        name: began
        for name, began in _told_by_conditions(phase, conditions).items()
        if unless_ahead(began, now) is not None
    }
    return Timers(**told)


def _told_by_conditions(
    phase: Phase, conditions: Sequence[JsonObject]
) -> dict[str, datetime | None]:
    def since(kind: str, status: str, reason: str = "") -> datetime | None:
        found = condition(conditions, kind) or {}
        right = found.get("status") == status and reason in ("", found.get("reason"))
        return transition_time(conditions, kind) if right else None

    deletion = {"forceful_deletion": since(CONDITION_DELETING_RESOURCES, "True")}
    deployed = since(CONDITION_RESOURCES_DEPLOYED, "True")
    match phase:
        case Phase.RESUMING:
            return {"admission": deployed, "warmup": deployed}
        case Phase.RUNNING:
            unready = since(CONDITION_PODS_READY, "False")
            # If pods were lost since, the periods begin then. While pods are ready none runs.
            begins = max(deployed, unready) if deployed and unready else None
            failure = since(CONDITION_UNHEALTHY, "True", Reason.FAILED_PODS)
            return {"admission": begins, "warmup": begins, "failure": failure}
        case Phase.RESETTING:
            # All was gone then, which is when this controller's pause begins.
            return {**deletion, "retry_pause": since(CONDITION_RESOURCES_DEPLOYED, "False")}
        case Phase.FAILED:
            # The first may be of an earlier attempt: the Go operator does not update it.
            paused = since(CONDITION_DELETING_RESOURCES, "False", _DELETION_PAUSED)
            failed = since(CONDITION_UNHEALTHY, "True")
            begins = max(paused, failed) if paused and failed else paused
            return {**deletion, "deletion_on_failure": begins}
        case Phase.SUCCEEDED:
            # The quota was released at the success. The Go operator counts from the deployment.
            released = since(CONDITION_QUOTA_RESERVED, "False", Reason.SUCCEEDED)
            return {**deletion, "success": released or deployed}
        case Phase.SUSPENDING | Phase.TERMINATING:
            return {**deletion}
    return {}


def _topology_workload(components: Sequence[JsonObject]) -> str:
    return next((each[TOPOLOGY] for each in components if each.get(TOPOLOGY)), "")


def _pod_set_infos(appwrapper: AppWrapper) -> PodSetInfos:
    infos = [len(component.get("podSetInfos") or ()) for component in appwrapper.components]
    pod_sets = [len(recorded.get("podSets") or ()) for recorded in appwrapper.component_statuses]
    if infos == pod_sets:
        return PodSetInfos.COMPLETE
    return PodSetInfos.MISMATCHED if any(infos) else PodSetInfos.ABSENT
