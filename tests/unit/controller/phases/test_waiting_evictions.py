"""What QuotaReserved reports after Kueue evicted an AppWrapper because of late pods."""

from dataclasses import replace

import pytest

from controller.phases import decide
from controller.phases.actions import Actions, SetCondition, StartTimer, Timer
from controller.phases.phase import Phase
from controller.phases.snapshot import ConditionText, Queueing, Snapshot, Timers
from controller.phases.waiting import MOMENT, REASON_INTERVAL
from controller.reports.quota_reserved import timed_out
from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from tests.support.decisions import CONFIG
from tests.support.moments import NOW

QUOTA = "QuotaReserved"
SHORT = Queueing(workload=True, pending="insufficient quota for cpu")
PREEMPTED = replace(SHORT, evicted="Preempted: by Job urgent of namespace b")
CHECKS = Queueing(workload=True, pending="its quota is reserved. Admission checks", considered=True)
WRITTEN = Timers(queue_reason=NOW - REASON_INTERVAL)
EVICTION = "Kueue evicted Workload w (2 times so far)."
TIMED_OUT = timed_out(EVICTION)


def after(report: ConditionReport) -> Snapshot:
    """Another process wrote `report`, before this one started."""
    return Snapshot(
        phase=Phase.SUSPENDED,
        suspend=True,
        queued=True,
        waits_since=NOW - MOMENT,
        condition_texts={QUOTA: ConditionText(report.reason, report.text())},
        timers=WRITTEN,
    )


def in_process(snapshot: Snapshot, report: ConditionReport) -> Snapshot:
    return replace(snapshot, reported={QUOTA: report})


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("report", [TIMED_OUT, timed_out(EVICTION, "old")])
@pytest.mark.parametrize("queueing", [SHORT, PREEMPTED, CHECKS])
def test_an_eviction_precedes_kueues_reason(
    report: ConditionReport, queueing: Queueing, restarted: bool
) -> None:
    waits = replace(after(report), queueing=queueing)
    message = f"{EVICTION} Kueue reports: {queueing.pending}"
    assert decide(waits if restarted else in_process(waits, report), NOW, CONFIG) == (
        SetCondition(QUOTA, False, Reason.PODS_READY_TIMEOUT, message),
        StartTimer(Timer.QUEUE_REASON),
    )


@pytest.mark.parametrize("restarted", [False, True])
def test_only_the_eviction_is_reported_while_it_runs_again(restarted: bool) -> None:
    """Kueue has reserved the quota, so the Workload shows no eviction any more."""
    report = timed_out(EVICTION, SHORT.pending)
    waits = replace(after(report), queueing=SHORT)
    assert decide(waits, NOW, CONFIG) == ()  # so a new process remembers no report
    starts = replace(waits, suspend=False, queued=False, queueing=None)
    starts = starts if restarted else in_process(starts, report)
    assert reserved(decide(starts, NOW, CONFIG)) == [EVICTION]


def test_another_reason_does_not_stay_while_it_runs() -> None:
    waits = replace(after(TIMED_OUT), suspend=False, queued=False)
    preempted = replace(waits, condition_texts={QUOTA: ConditionText(Reason.SUSPENDED, "no quota")})
    assert reserved(decide(preempted, NOW, CONFIG)) == [""]


def reserved(actions: Actions) -> list[str]:
    return [
        each.message for each in actions if isinstance(each, SetCondition) and each.type == QUOTA
    ]
