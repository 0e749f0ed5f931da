"""Terminating: the AppWrapper is being deleted, and goes last."""

from datetime import datetime

from controller.phases import deletion
from controller.phases.actions import Actions, MoveTo, Reason, RemoveFinalizer, SetCondition
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_UNHEALTHY,
)


def terminate(snapshot: Snapshot) -> Actions:
    """The way in, from every other phase. Without our finalizer nothing of ours is left to do."""
    if not snapshot.finalizer:
        return ()
    move = MoveTo(Phase.TERMINATING, Reason.TERMINATING)
    return (move, *(_let_go(snapshot) if snapshot.gone else deletion.begin(snapshot, keep=False)))


def decide_terminating(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Delete everything; only then the finalizer goes, and the AppWrapper with it."""
    if not snapshot.finalizer:
        return ()
    return _let_go(snapshot) if snapshot.gone else deletion.proceed(snapshot, now, config)


def _let_go(snapshot: Snapshot) -> Actions:
    return (
        *deletion.finish(snapshot),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.TERMINATING),
        SetCondition(CONDITION_PODS_READY, False, Reason.TERMINATING),
        SetCondition(CONDITION_UNHEALTHY, False, Reason.TERMINATING),
        RemoveFinalizer(),
    )
