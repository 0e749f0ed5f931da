"""Failed: components are kept for a while, then deleted."""

from datetime import timedelta

from controller.phases.phase import Phase
from tests.support.decisions import (
    DELETION_BEGINS,
    DELETION_ENDS,
    HOLDING,
    SUSPENDING,
    Situation,
    decisions,
)

FAILED = SUSPENDING.but(phase=Phase.FAILED, suspend=False)
PATIENT = FAILED.configured(deletion_on_failure_grace=timedelta(minutes=1))
KEPT = PATIENT.job().but(conditions=HOLDING)


@decisions(
    {
        "the deletion has not ended": (FAILED, "wake after 5s"),
        "a deletion that began continues within the grace period": (PATIENT, "wake after 5s"),
        "one second before the end of the grace period": (
            KEPT.since(deletion_on_failure=59),
            "wake after 1s",
        ),
        "at the end of the grace period": (KEPT.since(deletion_on_failure=60), DELETION_BEGINS),
        "suspension ends the grace period": (
            KEPT.since(deletion_on_failure=1).but(suspend=True),
            DELETION_BEGINS,
        ),
        "when all is gone it releases the quota": (
            FAILED.but(gone=True),
            f"""
            {DELETION_ENDS}
            clear deletion_on_failure
            QuotaReserved=False (Failed)
            PodsReady=False (Failed)
            """,
        ),
        "nothing is deployed any more": (FAILED.job().but(conditions=frozenset()), ""),
    }
)
def test_a_failed_appwrapper_deletes_its_components_after_a_grace_period(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected
