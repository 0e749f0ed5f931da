"""Report a problem of an AppWrapper, and the answer to it. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass

from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from shared.api.names import CONDITION_UNHEALTHY


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(ConditionReport):
    """A problem, and `then`: what follows from it.

    `quoted`: `problem` quotes users, and the operator's log contains this text instead. `cause`:
    the pod and the node of the root cause. While that stays, another text is no news: pods that
    fail and heal repeatedly must not cost a status write each.
    """

    type: str = CONDITION_UNHEALTHY
    status: bool = True
    problem: str
    quoted: str | None = None
    then: str = ""
    cause: tuple[str, str] | None = None

    @property
    def key(self) -> Hashable:
        """Return the root cause, or without one the text."""
        return self.cause or self.text()

    def text(self) -> str:
        """Return the problem and its consequence."""
        return "; ".join(filter(None, [self.problem, self.then]))

    def logged(self) -> str:
        """Return the same without the texts of users."""
        shown = self.problem if self.quoted is None else self.quoted
        return "; ".join(filter(None, [shown, self.then]))


def other_nodes_needed(problem: str, workload: str) -> ConditionReport:
    """Return that an assigned node accepts no pods, so Kueue must assign other nodes."""
    text = (
        f"{problem}; Kueue is asked to evict Workload {workload} and to assign other "
        "nodes: the quota is released for a moment, and another workload can get it"
    )
    return ConditionReport(CONDITION_UNHEALTHY, True, Reason.REASSIGNMENT, text)
