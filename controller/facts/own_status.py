"""Facts in the AppWrapper itself: spec, annotations and the status that the controller wrote."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from controller.facts.assigned_nodes import TOPOLOGY
from controller.facts.attempt_number import was_deployed
from controller.facts.taken_over import as_taken_over
from controller.phases.phase import Phase
from controller.phases.snapshot import ConditionText, PodSetInfos, Snapshot
from controller.phases.timers import Stamp, decode_timers, unless_ahead
from controller.reports.report import ConditionReport
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import is_true, transition_time, true_types
from shared.api.names import (
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    FINALIZER,
)
from shared.api.objects import JsonObject


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
    texts = {str(each.get("type")): _text_of(each) for each in appwrapper.conditions}
    return Snapshot(
        phase=phase,
        arguments=f"{appwrapper.name} -n {appwrapper.namespace}",
        suspend=appwrapper.suspend,
        held=appwrapper.held,
        deletion_requested=appwrapper.deletion_requested,
        finalizer=appwrapper.has_our_finalizer,
        foreign=not appwrapper.is_ours,
        never_deployed=appwrapper.deletion_requested and _is_never_deployed(appwrapper),
        other_finalizers=any(each != FINALIZER for each in appwrapper.finalizers),
        queued=bool(appwrapper.queue_name),
        topology_workload=_topology_workload(appwrapper.components),
        planned=_is_planned(appwrapper),
        pod_set_infos=_pod_set_infos(appwrapper),
        conditions=true_types(appwrapper.conditions),
        condition_texts=texts,
        reported={
            condition: report
            for condition, report in (reported or {}).items()
            if condition in texts and texts[condition].message == report.text()
        },
        waits_since=_waits_since(phase, appwrapper.conditions, now),
        retries=appwrapper.retries,
        timers=as_taken_over(timers, phase, appwrapper.conditions, now),
    )


def _waits_since(phase: Phase, conditions: Sequence[JsonObject], now: datetime) -> datetime | None:
    if phase is not Phase.SUSPENDED or is_true(conditions, CONDITION_QUOTA_RESERVED):
        return None
    return unless_ahead(transition_time(conditions, CONDITION_QUOTA_RESERVED), now)


def _text_of(each: JsonObject) -> ConditionText:
    return ConditionText(each.get("reason") or "", each.get("message") or "")


def known_phase(appwrapper: AppWrapper) -> Phase | None:
    """Return the phase in the status; None if the controller does not know it."""
    try:
        return Phase(appwrapper.status.get("phase") or "")
    except ValueError:
        return None


# The first status write sets these to False; each deployment adds others.
_AT_FIRST: Final = frozenset((CONDITION_QUOTA_RESERVED, CONDITION_RESOURCES_DEPLOYED))


def _is_never_deployed(appwrapper: AppWrapper) -> bool:
    """True if this version of the status shows that no component was ever created.

    A deployment is recorded before its first create, by the Go operator too. A later write of the
    AppWrapper with this version fails if a deployment was recorded meanwhile.
    """
    types = {str(each.get("type")) for each in appwrapper.conditions}
    return (
        known_phase(appwrapper) in (Phase.EMPTY, Phase.SUSPENDED)
        and not appwrapper.attempt
        and not was_deployed(appwrapper)
        and types <= _AT_FIRST
        and not true_types(appwrapper.conditions)
    )


def _is_planned(appwrapper: AppWrapper) -> bool:
    recorded = appwrapper.component_statuses
    return (
        appwrapper.attempt > 0
        and len(recorded) == len(appwrapper.components)
        and all(each.get("name") for each in recorded)
    )


def _topology_workload(components: Sequence[JsonObject]) -> str:
    return next((each[TOPOLOGY] for each in components if each.get(TOPOLOGY)), "")


def _pod_set_infos(appwrapper: AppWrapper) -> PodSetInfos:
    infos = [len(component.get("podSetInfos") or ()) for component in appwrapper.components]
    pod_sets = [len(recorded.get("podSets") or ()) for recorded in appwrapper.component_statuses]
    if infos == pod_sets:
        return PodSetInfos.COMPLETE
    return PodSetInfos.MISMATCHED if any(infos) else PodSetInfos.ABSENT
