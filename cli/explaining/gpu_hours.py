"""Compute the GPU-hours that an AppWrapper waited for, used and lost. Pure.

docs/users/explain.md defines the hours queued, productive and lost.

The status records only the last change of each condition. So an eviction, or pods that were not
ready for a while, turn a figure into a bound; a note names it. If an attempt left a checkpoint,
less is lost than this figure.
"""

from datetime import datetime, timedelta

from cli.explaining.case import Case
from cli.explaining.report import GpuHours
from cli.phases import ENDED
from controller.phases.phase import Phase
from controller.reports.reason import Reason
from shared.api.amounts import added_up
from shared.api.names import CONDITION_PODS_READY, CONDITION_QUOTA_RESERVED
from shared.waits.gpus import gpu_hours as hours
from shared.waits.gpus import gpu_resources, gpus_in
from shared.waits.quota_time import quota_time


def gpu_hours(case: Case) -> GpuHours | None:
    """Return None if the pods request no GPU. The configuration names the resources of GPUs."""
    asked = added_up(each.total for each in case.queue.asks)
    gpus = gpus_in(asked, gpu_resources(case.seen.world.settings.behaviour))
    if not gpus:
        return None
    until = _until(case)
    used = quota_time(case.appwrapper, until)
    if used is None:
        return GpuHours(gpus=gpus, notes=("its time with quota is not recorded",))
    waited = hours(gpus, until - case.created - used)
    if not (used or case.is_true(CONDITION_QUOTA_RESERVED)):
        # Its user suspended an AppWrapper without a queue: it does not wait for quota.
        return GpuHours(gpus=gpus, queued=waited) if case.appwrapper.queue_name else None
    productive, bounds = _productive(case, until)
    return GpuHours(
        gpus=gpus,
        queued=waited,
        productive=hours(gpus, productive),
        lost=hours(gpus, max(timedelta(0), used - productive)),
        notes=bounds,
    )


def _until(case: Case) -> datetime:
    """Return when an ended AppWrapper released its quota, else now."""
    has_released = case.phase in ENDED and not case.is_true(CONDITION_QUOTA_RESERVED)
    return (case.changed(CONDITION_QUOTA_RESERVED) if has_released else None) or case.now


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
