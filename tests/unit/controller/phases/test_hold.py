"""A hold: what is decided while it stands, and after it."""

from dataclasses import replace
from typing import Any

import pytest

from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.snapshot import OwnWorkload, PodSetInfos, Queueing, Snapshot
from controller.reports.quota_reserved import HELD
from controller.reports.quota_reserved import RELEASED as TO_BE_STOPPED
from tests.support.decisions import RUNNING, SPARING_DELETION_BEGINS, Situation, asked, decisions

ACTIVE = OwnWorkload("w", "w1", "7", active=True)
MINE = replace(ACTIVE, active=False, deactivated=True)
ADMINS = replace(ACTIVE, active=False)
QUEUED = Situation(Snapshot(phase=Phase.SUSPENDED, queued=True, suspend=True))
HOLDS = QUEUED.but(held=True)
REPORTED = HOLDS.after(HELD)
RELEASED = REPORTED.but(held=False, queueing=Queueing(workload=True, considered=True))
# Kueue admitted it, and has not suspended it since.
ADMITTED = RELEASED.but(suspend=False, pod_set_infos=PodSetInfos.COMPLETE)
TEXT = (
    "a user holds it (annotation workload.codeflare.dev.appwrapper/hold). It is out of the queue, "
    "and nothing starts until a user runs: appwrapper release"
)
RELEASING = (
    "QuotaReserved=False (Held): a user released it. Kueue first suspends it because of the earlier "
    "hold, and then queues it again"
)
OVER = """
    QuotaReserved=False (Suspended)
    start queue_reason
    wake after 10s
"""
DEACTIVATES = """
    deactivate Workload w (w1, 7)
    wake after 1s
"""
CLEARS = """
    QuotaReserved=False (Suspended)
    start queue_reason
"""
ACTIVATES = """
    activate Workload w (w1, 7)
    wake after 1s
"""


@decisions(
    {
        "it is reported before the Workload is deactivated": (
            HOLDS.but(workloads=(ACTIVE,)),
            f"QuotaReserved=False (Held): {TEXT}{DEACTIVATES}",
        ),
        "the report is written once": (REPORTED.but(workloads=(MINE,)), ""),
        "a new Workload": (REPORTED.but(workloads=(ACTIVE,)), DEACTIVATES),
        "one that an admin activated": (
            REPORTED.but(workloads=(replace(MINE, active=True),)),
            DEACTIVATES,
        ),
        "one that an admin deactivated stays as it is": (REPORTED.but(workloads=(ADMINS,)), ""),
        "Kueue has made no Workload": (REPORTED, ""),
        "Kueue admitted it": (
            REPORTED.but(suspend=False, pod_set_infos=PodSetInfos.COMPLETE, workloads=(ACTIVE,)),
            DEACTIVATES,
        ),
        "without a queue nothing starts either": (
            Situation(Snapshot(phase=Phase.SUSPENDED, held=True)),
            f"QuotaReserved=False (Held): {TEXT}",
        ),
    }
)
def test_nothing_starts_while_it_is_held(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


@decisions(
    {
        "its Workload is activated": (
            RELEASED.but(workloads=(MINE,)),
            f"{CLEARS}{ACTIVATES}",
        ),
        "but not before Kueue has taken the quota back": (
            RELEASED.but(workloads=(replace(MINE, has_quota=True),)),
            "wake after 5s",
        ),
        "one that an admin activated gets its mark removed": (
            RELEASED.but(workloads=(replace(MINE, active=True),)),
            f"{CLEARS}{ACTIVATES}",
        ),
        "an admin's deactivation stays": (RELEASED.but(workloads=(ADMINS,)), OVER),
        "it is active": (RELEASED.but(workloads=(ACTIVE,)), OVER),
        "without a queue": (
            RELEASED.but(queued=False, queueing=None),
            "QuotaReserved=False (Suspended)",
        ),
        "Kueue has not suspended it: its quota may be another one's": (
            ADMITTED.but(workloads=(ACTIVE,)),
            f"{RELEASING}{DEACTIVATES}",
        ),
        "nor after it was deactivated": (ADMITTED.but(workloads=(MINE,)), RELEASING),
        "which is reported once": (ADMITTED.after(TO_BE_STOPPED).but(workloads=(MINE,)), ""),
        "and no longer once Kueue has suspended it": (
            ADMITTED.after(TO_BE_STOPPED).but(suspend=True, workloads=(MINE,)),
            f"{CLEARS}{ACTIVATES}",
        ),
        "a new hold": (
            ADMITTED.after(TO_BE_STOPPED).but(held=True, workloads=(MINE,)),
            f"QuotaReserved=False (Held): {TEXT}",
        ),
        "a write of the hold took effect after the release": (
            QUEUED.but(queueing=Queueing(workload=True, deactivated=True), workloads=(MINE,)),
            f"start queue_reason{ACTIVATES}",
        ),
        "the cache has not seen that it is active again": (
            QUEUED.but(
                queueing=Queueing(workload=True, deactivated=True, considered=True),
                workloads=(ACTIVE,),
            ),
            "",
        ),
    }
)
def test_after_the_release_it_waits_in_the_queue(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


@pytest.mark.parametrize("phase", [Phase.RESUMING, Phase.RUNNING])
def test_a_running_one_is_suspended_first(phase: Phase) -> None:
    """Kueue gives the quota of a deactivated Workload away at once."""
    decision = RUNNING.but(phase=phase, held=True, queued=True, workloads=(ACTIVE,)).decision
    assert decision[0] == "-> Suspending (Suspending)"
    begins = [each.strip() for each in SPARING_DELETION_BEGINS.splitlines() if each.strip()]
    assert decision[1:] == begins


@pytest.mark.parametrize(
    ("situation", "needs"),
    [
        (HOLDS, [Need.WORKLOADS, Need.OBSERVED]),
        (RELEASED, [Need.WORKLOADS, Need.QUEUE, Need.OBSERVED]),
        (ADMITTED, [Need.WORKLOADS, Need.OBSERVED]),
        (HOLDS.but(queued=False), [Need.OBSERVED]),
        (QUEUED, [Need.QUEUE, Need.OBSERVED]),
        (RUNNING.but(held=True, queued=True), [Need.OBSERVED]),
    ],
)
def test_only_a_hold_reads_the_workload(situation: Situation, needs: Any) -> None:
    assert asked(situation.snapshot) == needs
