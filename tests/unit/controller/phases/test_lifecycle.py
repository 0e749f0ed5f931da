"""Whole lives in virtual time: decide, evolve, advance to the requeue, repeat."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from controller.phases import decide
from controller.phases.actions import Actions, MoveTo, RequeueAfter, SetCondition
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, PodCounts, Presence, Snapshot, Timers
from controller.phases.timers import evolve

START = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
ONE_FAILED = PodCounts(expected=4, running=3, failed=1)
ALL_RUN = PodCounts(expected=4, running=4)
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=4, reports=True)


class Life:
    """Applies actions to a snapshot the way the applier would, with a clock of its own."""

    def __init__(self) -> None:
        self.now = START
        self.snapshot = Snapshot(
            phase=Phase.RUNNING,
            finalizer=True,
            conditions=frozenset({"QuotaReserved", "ResourcesDeployed", "PodsReady"}),
            components=(JOB,),
            pods=ALL_RUN,
        )

    def step(self, **observed: object) -> Actions:
        """Observe, decide, apply; then let time run to the requested requeue."""
        self.snapshot = replace(self.snapshot, **observed)  # type: ignore[arg-type]
        actions = decide(self.snapshot, self.now, CONFIG)
        timers = evolve(self.snapshot.timers, actions, self.now)
        self.snapshot = replace(self.snapshot, timers=timers)
        for action in actions:
            match action:
                case MoveTo(phase=phase, spend_retry=spent):
                    retries = self.snapshot.retries + spent
                    self.snapshot = replace(self.snapshot, phase=phase, retries=retries)
                case SetCondition(kind, status):
                    conditions = self.snapshot.conditions - {kind}
                    conditions |= {kind} if status else set()
                    self.snapshot = replace(self.snapshot, conditions=conditions)
                case RequeueAfter(delay):
                    self.now += delay
                case _:
                    pass
        return actions

    def fail_and_reset(self) -> timedelta:
        """From a pod's failure to the reset it causes."""
        began = self.now
        self.step(pods=ONE_FAILED)
        decided_at = self.now
        self.step()
        assert self.snapshot.phase is Phase.RESETTING
        return decided_at - began

    def come_back(self) -> None:
        """Everything is deleted, the pause passes, everything runs again."""
        self.step(gone=True, components=(), pods=PodCounts(expected=4))
        self.step(gone=False)
        assert self.snapshot.phase is Phase.RESUMING
        self.step(components=(JOB,), pods=ALL_RUN)
        assert self.snapshot.phase is Phase.RUNNING


def test_retry_pause_is_counted_from_the_end_of_deletion() -> None:
    life = Life()
    life.fail_and_reset()
    life.now += timedelta(minutes=8)  # a slow deletion
    gone_at = life.now
    life.step(gone=True, components=())
    assert life.now - gone_at == CONFIG.retry_pause
    life.step(gone=False)
    assert life.snapshot.phase is Phase.RESUMING


def test_a_replaced_pod_ends_the_failure_grace_period() -> None:
    life = Life()
    life.step(pods=ONE_FAILED)
    life.step(pods=ALL_RUN)
    assert life.snapshot.timers.failure is None
    life.now += timedelta(minutes=2)
    assert life.fail_and_reset() == CONFIG.failure_grace


def test_a_failure_after_a_reset_gets_a_fresh_grace_period() -> None:
    life = Life()
    for retries in (1, 2):
        assert life.fail_and_reset() == CONFIG.failure_grace
        assert life.snapshot.retries == retries
        life.come_back()
        assert "Unhealthy" not in life.snapshot.conditions


def test_one_that_keeps_failing_spends_its_retries_and_stops() -> None:
    life = Life()
    for _ in range(CONFIG.retry_limit):
        life.fail_and_reset()
        life.come_back()
    life.step(pods=ONE_FAILED)
    life.step()
    assert life.snapshot.phase is Phase.FAILED
    assert "QuotaReserved" in life.snapshot.conditions
    life.step(gone=True, components=(), pods=PodCounts(expected=4))
    assert not life.snapshot.conditions & {"QuotaReserved", "ResourcesDeployed"}


def test_a_preemption_costs_no_retry() -> None:
    life = Life()
    life.step(suspend=True)
    assert life.snapshot.phase is Phase.SUSPENDING
    life.step(gone=True, components=(), pods=PodCounts(expected=4))
    assert life.snapshot.phase is Phase.SUSPENDED
    assert life.snapshot.conditions == frozenset()
    life.step(suspend=False, gone=False)
    assert life.snapshot.phase is Phase.RESUMING
    assert life.snapshot.retries == 0


def test_deleting_a_suspending_appwrapper_does_not_prolong_its_deletion() -> None:
    life = Life()
    life.step(suspend=True)
    began = life.snapshot.timers.forceful_deletion
    life.now += timedelta(minutes=5)
    life.step(deletion_requested=True)
    assert life.snapshot.phase is Phase.TERMINATING
    assert life.snapshot.timers == Timers(forceful_deletion=began)
