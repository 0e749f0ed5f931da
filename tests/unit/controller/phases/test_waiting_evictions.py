"""What QuotaReserved reports after Kueue evicted an AppWrapper because of late pods."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import Actions, SetCondition, StartTimer, Timer
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.snapshot import ConditionText, Queueing, Snapshot, Timers
from controller.phases.waiting import MOMENT, REASON_INTERVAL, longest_unready_of
from controller.reports.quota_reserved import PodsReadyTimeout, TimedOut
from controller.reports.reason import Reason
from shared.waits.workload import PodsReadyEviction
from tests.support.decisions import CONFIG, asked_and_decided
from tests.support.moments import NOW

QUOTA = "QuotaReserved"
SHORT = Queueing(workload=True, pending="insufficient quota for cpu")
PREEMPTED = replace(SHORT, evicted="Preempted: by Job urgent of namespace b")
WRITTEN = Timers(queue_reason=NOW - REASON_INTERVAL)
EVICTION = PodsReadyEviction("w", 2)
TIMEOUT = PodsReadyTimeout(EVICTION, timedelta(minutes=7))
PATIENT = PodsReadyTimeout(EVICTION, longest_unready_of(CONFIG))
TIMED_OUT = TimedOut(timeout=TIMEOUT)
RESTARTED = Snapshot(
    phase=Phase.SUSPENDED,
    suspend=True,
    queued=True,
    waits_since=NOW - MOMENT,
    told={QUOTA: ConditionText(Reason.PODS_READY_TIMEOUT, "x")},
)


def after(report: TimedOut, queueing: Queueing | None, **changes: Any) -> Snapshot:
    """`report` is what this process wrote last."""
    told = {QUOTA: ConditionText(report.reason, report.text())}
    return replace(RESTARTED, told=told, reported={QUOTA: report}, queueing=queueing, **changes)


@pytest.mark.parametrize(
    ("snapshot", "reason", "message"),
    [
        pytest.param(
            after(TIMED_OUT, PREEMPTED),
            Reason.PODS_READY_TIMEOUT,
            f"{TIMEOUT.text()} Kueue reports: {SHORT.pending}",
            id="an eviction that is reported stays reported",
        ),
        pytest.param(
            after(replace(TIMED_OUT, pending="old"), SHORT, timers=WRITTEN),
            Reason.PODS_READY_TIMEOUT,
            f"{TIMEOUT.text()} Kueue reports: {SHORT.pending}",
            id="Kueue's last reason does not",
        ),
        pytest.param(
            replace(RESTARTED, queueing=replace(SHORT, timed_out=EVICTION)),
            Reason.PODS_READY_TIMEOUT,
            f"{PATIENT.text()} Kueue reports: {SHORT.pending}",
            id="after a restart the Workload shows the eviction",
        ),
        pytest.param(
            replace(RESTARTED, queueing=SHORT),
            Reason.SUSPENDED,
            f"Kueue reports: {SHORT.pending}",
            id="after a restart a new Workload shows no eviction",
        ),
    ],
)
def test_an_eviction_precedes_kueues_reason(
    snapshot: Snapshot, reason: Reason, message: str
) -> None:
    expected = (SetCondition(QUOTA, False, reason, message), StartTimer(Timer.QUEUE_REASON))
    assert decide(snapshot, NOW, CONFIG) == expected


def test_only_the_eviction_is_reported_while_it_runs_again() -> None:
    written = after(replace(TIMED_OUT, pending="no quota"), None, suspend=False, queued=False)
    asks, actions = asked_and_decided(written, CONFIG)
    assert reserved(actions) == [TIMEOUT.text()]
    assert Need.EVICTION not in asks
    restarted = replace(written, reported={}, pods_ready_eviction=EVICTION)
    asks, actions = asked_and_decided(restarted, CONFIG)
    assert reserved(actions) == [PATIENT.text()]
    assert Need.EVICTION in asks


def reserved(actions: Actions) -> list[str]:
    return [
        each.message for each in actions if isinstance(each, SetCondition) and each.type == QUOTA
    ]
