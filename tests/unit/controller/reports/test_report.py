"""A report is written if its data differs from what the condition reports."""

from dataclasses import dataclass, replace

import pytest

from controller.reports.reason import Reason
from controller.reports.report import ConditionReport, ConditionText, is_news


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(ConditionReport):
    type: str = "DeletingResources"
    status: bool = True
    reason: Reason = Reason.DELETION_BLOCKED
    by: str = "a pod"
    detail: str = ""

    @property
    def key(self) -> str:
        return self.by

    def text(self) -> str:
        return f"{self.by} {self.detail}"


NOW = Blocked(detail="of node a")
STORED = ConditionText("DeletionBlocked", "a pod of node a")


@pytest.mark.parametrize(
    ("report", "stored", "last", "was", "news"),
    [
        pytest.param(NOW, None, None, False, True, id="the condition does not exist"),
        pytest.param(NOW, STORED, NOW, False, True, id="another status"),
        pytest.param(NOW, ConditionText("Other"), NOW, True, True, id="another reason"),
        pytest.param(NOW, STORED, NOW, True, False, id="the same data"),
        pytest.param(NOW, ConditionText("DeletionBlocked", "x"), NOW, True, False, id="its text"),
        pytest.param(replace(NOW, by="a Job"), STORED, NOW, True, True, id="other data"),
        pytest.param(replace(NOW, detail="y"), STORED, NOW, True, False, id="only another text"),
        pytest.param(NOW, STORED, None, True, False, id="a restart, and the same text"),
        pytest.param(replace(NOW, detail="y"), STORED, None, True, True, id="restart, new text"),
        pytest.param(
            replace(NOW, detail="y"),
            STORED,
            replace(NOW, reason=Reason.DELETION_INITIATED),
            True,
            True,
            id="the last report had another reason, so the text decides",
        ),
    ],
)
def test_a_report_is_news(
    report: Blocked, stored: ConditionText | None, last: Blocked | None, was: bool, news: bool
) -> None:
    assert is_news(report, stored, last, was=was) is news


def test_by_default_the_text_is_the_key_and_is_logged() -> None:
    report = ConditionReport("Unhealthy", True, Reason.FAILED, "why")
    assert (report.key, report.logged()) == ("why", "why")
