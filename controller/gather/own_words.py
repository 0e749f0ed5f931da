"""What an AppWrapper itself says: its spec, its status, its metadata. Pure."""

import logging
from dataclasses import replace
from datetime import datetime

from controller.phases import timers as stored_timers
from controller.phases.phase import Phase
from controller.phases.snapshot import PodSetInfos, Snapshot, Timers, Told
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import transition_time, true_types
from shared.api.json import JsonObject
from shared.api.names import CONDITION_RESOURCES_DEPLOYED
from shared.logs import object_fields

logger = logging.getLogger(__name__)


def own_words(appwrapper: AppWrapper, now: datetime) -> Snapshot:
    """A Snapshot without anything that others have to say."""
    status = appwrapper.status
    phase = _phase(appwrapper)
    stamp = stored_timers.Stamp(status.get("phase") or "", appwrapper.attempt, appwrapper.retries)
    timers = stored_timers.decode(status.get("timers") or {}, stamp, now)
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


def _phase(appwrapper: AppWrapper) -> Phase:
    """A phase that nobody knows means: remove what may be there, and begin anew."""
    told = appwrapper.status.get("phase") or ""
    try:
        return Phase(told)
    except ValueError:
        logger.warning(
            "unknown phase %.100r: removing all and beginning anew",
            told,
            extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
        )
        return Phase.SUSPENDING


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
    return replace(timers, success=stored_timers.unless_ahead(since, now))


def _pod_set_infos(appwrapper: AppWrapper) -> PodSetInfos:
    infos = [len(component.get("podSetInfos") or ()) for component in appwrapper.components]
    pod_sets = [len(recorded.get("podSets") or ()) for recorded in appwrapper.component_statuses]
    if infos == pod_sets:
        return PodSetInfos.COMPLETE
    return PodSetInfos.MISMATCHED if any(infos) else PodSetInfos.ABSENT
