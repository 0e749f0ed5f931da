"""How often bad news of the pods is told, so that pods which come and go do not cost a write each.

Every status write wakes whoever watches, and a pod may change every second. The rule, with two
periods of the configuration:

- Good news is told at once: PodsReady turns True, Unhealthy turns False.
- Bad news is told at most once in flapPeriod, in one write: PodsReady turns False, Unhealthy turns
  True again after it healed, with the periods that these begin. What cannot be told yet is looked
  at again when it can be; what healed until then was no news. The first time in an attempt that
  Unhealthy turns True it waits for nothing.
- Trouble that goes within settlePeriod of its beginning and comes back within it is the same
  trouble, so that "failed", "replaced", "runs" within seconds are not three writes.
- The admission and warm-up periods, which begin anew when pods are lost, do so at most once in
  flapPeriod. Until that is written they count as beginning now (periods.py).

So a period only ever begins late, by less than flapPeriod, and a reset comes late by no more than
that. No period is cut short, and none begins anew but for a reason. A failure grace period of zero
knows no flapping: then a reset needs no earlier news.
"""

from datetime import datetime, timedelta

from controller.phases.actions import Reason
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Snapshot
from shared.api.names import CONDITION_UNHEALTHY


def not_ready_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """How long it must not yet be told that pods are missing."""
    began = snapshot.timers.unready
    return ZERO if began is None else remaining(began, config.flap_period, now)


def unhealthy_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """How long it must not yet be told that it is unhealthy."""
    said = snapshot.told.get(CONDITION_UNHEALTHY)
    healed = said is not None and said.reason == Reason.NO_FAILED_PODS
    return not_ready_for(snapshot, now, config) if healed else ZERO


def settling_for(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> timedelta:
    """How long it must not yet be told that the trouble is over."""
    began = snapshot.timers.failure
    return ZERO if began is None else remaining(began, config.settle_period, now)
