"""Which of this process's reports still stand in the status."""

from datetime import UTC, datetime

from controller.facts.own_status import read_status
from controller.reports.deleting_resources import DeletionBlocked
from shared.api.appwrapper import AppWrapper

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REPORT = DeletionBlocked(left="Job train")
REPORTED = {"DeletingResources": REPORT}


def stored(message: str) -> AppWrapper:
    condition = {"type": "DeletingResources", "status": "True", "reason": REPORT.reason}
    status = {"phase": "Resetting", "conditions": [{**condition, "message": message}]}
    metadata = {"namespace": "team1", "name": "a", "uid": "u"}
    return AppWrapper({"metadata": metadata, "spec": {"components": []}, "status": status})


def test_a_report_counts_while_its_text_is_stored() -> None:
    snapshot = read_status(stored(REPORT.text()), NOW, REPORTED)
    assert snapshot.reported == REPORTED
    assert not snapshot.is_news(REPORT)


def test_after_a_write_whose_answer_was_lost_the_stored_text_decides() -> None:
    """Else the report would be news in every pass, and an Event each time."""
    later = DeletionBlocked(left="Job other")
    snapshot = read_status(stored(later.text()), NOW, REPORTED)
    assert snapshot.reported == {}
    assert not snapshot.is_news(later)
    assert snapshot.is_news(REPORT)
