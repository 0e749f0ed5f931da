"""Compute the GPU-hours that an AppWrapper waited for, used and lost. Pure.

docs/users/explain.md defines the hours queued, productive and lost.

The status records only the last change of each condition. So an eviction, or pods that were not
ready for a while, turn a figure into a bound; a note names it. If an attempt left a checkpoint,
less is lost than this figure.
"""

from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import Final

from cli.cluster.unread import objects
from cli.explaining.case import Case
from cli.explaining.history import attempts
from cli.explaining.report import GpuHours
from cli.gpus import gpu_resources, gpus_in
from controller.phases.phase import Phase
from controller.reports.reason import Reason
from shared.api.amounts import added_up
from shared.api.names import CONDITION_PODS_READY, CONDITION_QUOTA_RESERVED

_HOUR: Final = Decimal(3600)
_CENT: Final = Decimal("0.01")
_EXACT: Final = Context(prec=2100)  # the digits of the longest quantity


def gpu_hours(case: Case) -> GpuHours | None:
    """Return None if the pods request no GPU. The configuration names the resources of GPUs."""
    asked = added_up(each.total for each in case.queue.asks)
    gpus = gpus_in(asked, gpu_resources(case.seen.world.settings.behaviour))
    if not gpus:
        return None
    created, held = case.created, _quota_held(case)
    if held is None:
        if not case.appwrapper.queue_name:
            return None  # its user suspended it: it does not wait for quota
        queued = case.now - created if not case.appwrapper.attempt else None
        notes: tuple[str, ...] = (
            () if queued is not None else ("its earlier time with quota is not recorded",)
        )
        return GpuHours(gpus=gpus, queued=_hours(gpus, queued), notes=notes)
    began, ended = held
    if began is None:
        return GpuHours(gpus=gpus, notes=("when it got its quota is not recorded",))
    productive, bounds = _productive(case, ended)
    used = ended - began
    return GpuHours(
        gpus=gpus,
        queued=_hours(gpus, began - created),
        productive=_hours(gpus, productive),
        lost=_hours(gpus, max(timedelta(0), used - productive)),
        notes=bounds,
    )


def _quota_held(case: Case) -> tuple[datetime | None, datetime] | None:
    """Return begin and end (now, if it still holds quota) of the time with quota.

    None if the AppWrapper holds no quota and has not ended.
    """
    changed = case.changed(CONDITION_QUOTA_RESERVED)
    if case.is_true(CONDITION_QUOTA_RESERVED):
        return changed, case.now
    if case.phase in (Phase.SUCCEEDED, Phase.FAILED) and changed is not None:
        return _first_start(case), changed
    return None


def _first_start(case: Case) -> datetime | None:
    """Return the time when an ended AppWrapper got quota, None if unknown or after a suspension."""
    was_suspended = any(
        each.get("reason") == Reason.SUSPENDING for each in objects(case.seen.events)
    )
    known = attempts(case)
    return known[0].began if known and not was_suspended else None


def _productive(case: Case, ended: datetime) -> tuple[timedelta, tuple[str, ...]]:
    if case.phase not in (Phase.RUNNING, Phase.SUCCEEDED):
        return timedelta(0), ()
    if not case.is_true(CONDITION_PODS_READY):
        ran = case.reported(CONDITION_PODS_READY).reason == Reason.INSUFFICIENT_PODS_READY
        return timedelta(0), ("how long all of its pods ran is not recorded",) if ran else ()
    since = case.changed(CONDITION_PODS_READY)
    if since is None:
        return timedelta(0), ("since when its pods run is not recorded",)
    return max(timedelta(0), ended - since), ()


def _hours(gpus: Decimal, time: timedelta | None) -> Decimal | None:
    if time is None:
        return None
    return (gpus * Decimal(max(0, int(time.total_seconds()))) / _HOUR).quantize(
        _CENT, context=_EXACT
    )
