"""A report of one condition. Decisions compare its data, never its text."""

from collections.abc import Hashable
from dataclasses import dataclass

from controller.reports.reason import Reason


@dataclass(frozen=True, slots=True)
class ConditionText:
    """The present text of a condition of the AppWrapper."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ConditionReport:
    """A report of one condition. A subclass renders `text` from data that decisions read."""

    type: str
    status: bool
    reason: Reason
    message: str = ""

    @property
    def key(self) -> Hashable:
        """Return the data whose change is news; by default the text."""
        return self.text()

    def text(self) -> str:
        """Return the message for users."""
        return self.message

    def logged(self) -> str:
        """Return the message for the operator's log, without texts that users wrote."""
        return self.text()


def is_news(
    report: ConditionReport,
    stored: ConditionText | None,
    last: ConditionReport | None,
    *,
    was: bool = True,
) -> bool:
    """True if `report` must be written.

    `stored`: the condition's present text, `was`: its status. `last`: the report that this process
    wrote last; None after a restart, then the stored text decides.
    """
    if stored is None or (was, stored.reason) != (report.status, report.reason):
        return True
    if last is not None and (last.status, last.reason) == (report.status, report.reason):
        return report.key != last.key
    return report.text() != stored.message
