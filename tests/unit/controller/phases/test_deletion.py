"""A deletion: its begin, its end, what is forced, and what is reported meanwhile."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.facts.effective_fault_tolerance import effective_fault_tolerance
from controller.phases.actions import WakeAfter
from controller.phases.deletion import begin_deletion
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, Presence, Snapshot
from controller.reports.deleting_resources import DeletionBlocked
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.api.times import format_duration
from shared.config.configuration import AppWrapperConfig
from shared.config.kueue import longest_by_default
from shared.waits.workload import PodsReadyEviction
from tests.support.decisions import (
    DELETION_BEGINS,
    DELETION_ENDS,
    HOLDING,
    JOB,
    RUNNING,
    SPARING_DELETION_BEGINS,
    SPARING_DELETION_ENDS,
    SUSPENDING,
    Situation,
    decisions,
    lines,
)


def component(presence: Presence, *, keep: bool = False) -> Component:
    return replace(JOB, presence=presence, keep=keep)


@pytest.mark.parametrize(
    ("left", "keep", "seconds"),
    [
        ({}, True, 0),
        ({"components": (component(Presence.GONE),)}, True, 0),
        ({"components": (component(Presence.PLANNED),)}, True, 0),
        ({"components": (component(Presence.PRESENT),)}, True, 5),
        ({"components": (component(Presence.DELETING),)}, True, 5),
        ({"components": (component(Presence.UNKNOWN),)}, True, 5),
        ({"components": (component(Presence.PRESENT, keep=True),)}, True, 0),
        ({"components": (component(Presence.PRESENT, keep=True),)}, False, 5),
        ({"labelled_pods": 1}, True, 5),
    ],
)
def test_if_nothing_exists_the_next_pass_proves_it_at_once(
    left: dict[str, object], keep: bool, seconds: int
) -> None:
    """No watch event would wake the AppWrapper."""
    resetting = Snapshot(phase=Phase.RESETTING, **left)  # type: ignore[arg-type]
    assert begin_deletion(resetting, keep=keep)[-1] == WakeAfter(timedelta(seconds=seconds))


HELD = "Pod train-0 has finalizer example.com/hold"
OTHER = "Job train waits for Pod train-0"
FORCED = "Pod train-1 on node n (not ready)"
UNCONFIRMED = f"deleted without confirmation from its node: {FORCED}"
REMAINS = "not deleted after the grace period: Job train, 2 pods"
OVERDUE = SUSPENDING.since(forceful_deletion=600)
WITHOUT_PODS = OVERDUE.but(labelled_pods=0)
FORCES_PODS = "delete force-pods, sparing kept components\nwake after 5s"
SPARING = ", sparing kept components"
FORCES_COMPONENTS = """
    delete force-components, sparing kept components
    delete background-empty, sparing kept components
    wake after 5s
"""


def reports(message: str) -> str:
    return f"""
        DeletingResources=True (DeletionBlocked): {message}
        warn (DeletionBlocked): {message}
    """


def reported(situation: Situation, message: str) -> Situation:
    return situation.reported("DeletingResources", Reason.DELETION_BLOCKED, message)


@decisions(
    {
        "it waits for the deletion": (SUSPENDING, "wake after 5s"),
        "until the deadline": (SUSPENDING.since(forceful_deletion=598), "wake after 2s"),
        "it continues though it is no longer suspended": (
            SUSPENDING.but(suspend=False),
            "wake after 5s",
        ),
        "it deletes a component that is not being deleted": (
            SUSPENDING.job(),
            "delete, sparing kept components\nwake after 5s",
        ),
        "it deletes pods whose component is gone": (
            SUSPENDING.but(components=(), stray_pods=True),
            "delete, sparing kept components\nwake after 5s",
        ),
        "it announces a deletion that was never announced": (
            SUSPENDING.but(conditions=HOLDING),
            SPARING_DELETION_BEGINS,
        ),
        "it reports an obstacle": (
            SUSPENDING.but(blockers=(HELD,)),
            f"{reports(HELD)}\nwake after 5s",
        ),
        "once": (reported(SUSPENDING.but(blockers=(HELD,)), HELD), "wake after 5s"),
        "and again when it changes": (
            reported(SUSPENDING.but(blockers=(HELD, OTHER)), HELD),
            f"{reports(f'{HELD}; {OTHER}')}\nwake after 5s",
        ),
        "it forces nothing before the deadline": (
            SUSPENDING.but(forced_off=(FORCED,)),
            "wake after 5s",
        ),
        "at the deadline it forces the pods": (OVERDUE, f"{reports(REMAINS)}\n{FORCES_PODS}"),
        "soon again while a node may still stop them": (
            reported(SUSPENDING.since(forceful_deletion=604), REMAINS),
            FORCES_PODS,
        ),
        "later every 30 seconds": (
            reported(SUSPENDING.since(forceful_deletion=605), REMAINS),
            FORCES_PODS.replace("5s", "30s"),
        ),
        "without pods it forces the components": (
            WITHOUT_PODS,
            reports("not deleted after the grace period: Job train") + FORCES_COMPONENTS,
        ),
        "and reports the obstacle": (
            WITHOUT_PODS.but(blockers=(HELD,)),
            reports(HELD) + FORCES_COMPONENTS,
        ),
        "once, and forces again": (
            reported(WITHOUT_PODS.but(blockers=(HELD,)), HELD),
            FORCES_COMPONENTS,
        ),
        "at the deadline it also deletes a component that would create pods again": (
            reported(OVERDUE.job(), REMAINS),
            f"delete, sparing kept components\n{FORCES_PODS}",
        ),
        "it warns of pods that their node does not confirm": (
            OVERDUE.but(forced_off=(FORCED,)),
            f"""
            {reports(f"{REMAINS}; {UNCONFIRMED}")}
            warn (ForcedOnUnreachableNode): {UNCONFIRMED}
            {FORCES_PODS}
            """,
        ),
        "of the same pods once": (
            reported(OVERDUE.but(forced_off=(FORCED,)), f"{REMAINS}; {UNCONFIRMED}"),
            FORCES_PODS,
        ),
        "also if the obstacle changes": (
            OVERDUE.but(forced_off=(FORCED,), blockers=(HELD,)).after(
                DeletionBlocked(left="Job train, 2 pods", forced_off=(FORCED,))
            ),
            reports(f"{HELD}; {UNCONFIRMED}") + FORCES_PODS,
        ),
        "once more if the obstacle changes during a restart": (
            reported(
                OVERDUE.but(forced_off=(FORCED,), blockers=(HELD,)), f"{REMAINS}; {UNCONFIRMED}"
            ),
            f"""
            {reports(f"{HELD}; {UNCONFIRMED}")}
            warn (ForcedOnUnreachableNode): {UNCONFIRMED}
            {FORCES_PODS}
            """,
        ),
        "when all is gone it releases the quota": (
            SUSPENDING.but(gone=True),
            f"""
            -> Suspended (Suspended)
            {SPARING_DELETION_ENDS}
            QuotaReserved=False (Suspended)
            PodsReady=False (Suspended)
            Unhealthy=False (Suspended)
            """,
        ),
    }
)
def test_suspending_deletes_and_releases_the_quota_when_all_is_gone(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected


@pytest.mark.parametrize(
    ("phase", "keep"),
    [
        (Phase.SUSPENDING, True),
        (Phase.RESETTING, True),
        (Phase.FAILED, False),
        (Phase.SUCCEEDED, False),
        (Phase.TERMINATING, False),
    ],
)
def test_every_phase_that_deletes_forces_after_the_deadline(phase: Phase, keep: bool) -> None:
    overdue = SUSPENDING.since(forceful_deletion=600, success=7 * 86400)
    overdue = overdue.but(phase=phase, suspend=False, labelled_pods=0, blockers=(HELD,))
    forces = FORCES_COMPONENTS if keep else FORCES_COMPONENTS.replace(SPARING, "")
    assert reported(overdue, HELD).decision == lines(forces)


def evicted(times: str, periods: str = "1h17m57s") -> str:
    return (
        f"Kueue evicted Workload appwrapper-a-1 ({times}): its pods were not ready within the "
        f"timeout or recoveryTimeout of waitForPodsReady. This spent no retry. The periods "
        f"and retries of this AppWrapper add up to {periods}; evacuations, and waits before resets "
        "and deletions, take longer. An admin can raise both timeouts in Kueue's configuration."
    )


EVICTED = SUSPENDING.but(gone=True, pods_ready_eviction=PodsReadyEviction("appwrapper-a-1", 1))


@pytest.mark.parametrize("attempt", [1, 2, 7])
def test_the_reported_sum_of_periods_is_that_of_the_configuration_in_every_attempt(
    attempt: int,
) -> None:
    """The pause before each attempt is random; the reported sum is not."""
    raw = {"metadata": {"uid": "u1"}, "spec": {}, "status": {"attempt": attempt}}
    config = effective_fault_tolerance(AppWrapper(raw), AppWrapperConfig())
    message = evicted("once so far", format_duration(longest_by_default(AppWrapperConfig())))
    assert replace(EVICTED, config=config).decision == lines(
        f"""
        -> Suspended (Suspended)
        {SPARING_DELETION_ENDS}
        QuotaReserved=False (PodsReadyTimeout): {message}
        warn (PodsReadyTimeout): {message}
        PodsReady=False (Suspended)
        Unhealthy=False (Suspended)
        """
    )


def test_the_reported_sum_of_periods_is_that_of_the_appwrapper() -> None:
    """One attempt of 60 m warm-up, 75 s and 60 s, and its deletion of up to 11 m."""
    eviction = PodsReadyEviction("appwrapper-a-1", 3)
    patient = EVICTED.but(pods_ready_eviction=eviction).configured(
        warmup_grace=timedelta(hours=1), retry_limit=0
    )
    message = evicted("3 times so far", "1h13m15s")
    assert f"warn (PodsReadyTimeout): {message}" in patient.decision


NEW = Situation(Snapshot(phase=Phase.SUSPENDED, deletion_requested=True))
TERMINATING = SUSPENDING.but(phase=Phase.TERMINATING, deletion_requested=True)
FOREIGN = TERMINATING.but(phase=Phase.RUNNING, foreign=True)
NEVER_DEPLOYED = NEW.but(deletion_requested=True, finalizer=True, never_deployed=True)
ENDS = f"""
    {DELETION_ENDS}
    QuotaReserved=False (Terminating)
    PodsReady=False (Terminating)
    Unhealthy=False (Terminating)
    remove finalizer
"""


@decisions(
    {
        "deleted while running": (
            RUNNING.but(deletion_requested=True),
            f"-> Terminating (Terminating)\n{DELETION_BEGINS}",
        ),
        "deleted when nothing exists": (NEW.but(finalizer=True, gone=True), "remove finalizer"),
        "deleted when nothing exists, and another finalizer keeps it": (
            NEW.but(finalizer=True, other_finalizers=True, gone=True),
            f"-> Terminating (Terminating)\n{ENDS}",
        ),
        "only another client's finalizer keeps it": (NEW, ""),
        "resources exist": (TERMINATING, "wake after 5s"),
        "all is gone": (TERMINATING.but(gone=True), "remove finalizer"),
        "all is gone, and another finalizer keeps it": (
            TERMINATING.but(gone=True, other_finalizers=True),
            ENDS,
        ),
        "the finalizer is removed already": (NEW.but(phase=Phase.TERMINATING), ""),
        "another controller manages it, and nothing exists": (
            FOREIGN.but(gone=True),
            "remove finalizer",
        ),
        "the same, and it is Terminating there": (
            FOREIGN.but(phase=Phase.TERMINATING, gone=True),
            "remove finalizer",
        ),
        "another controller manages it, and objects exist": (
            FOREIGN.but(labelled_pods=1, unexpected_due=True),
            "",
        ),
        "another controller manages it, without the finalizer": (
            FOREIGN.but(gone=True, finalizer=False),
            "",
        ),
        "another controller manages what was never deployed": (
            NEVER_DEPLOYED.but(foreign=True),
            "remove finalizer",
        ),
        "nothing was ever deployed": (NEVER_DEPLOYED, "remove finalizer"),
        "nor is anything to be, and it has no finalizer": (NEVER_DEPLOYED.but(finalizer=False), ""),
    }
)
def test_a_deleted_appwrapper_keeps_the_finalizer_until_all_is_gone(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected
