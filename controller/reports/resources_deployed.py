"""Report components that cannot be read. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from shared.api.names import CONDITION_RESOURCES_DEPLOYED
from shared.waits.words import listed

_LONGEST_WHY: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentsUnreadable(ConditionReport):
    """Components cannot be read. `components`: Kinds and names; `why`: the API server's answer.

    The answer is no news: every change of a pod causes a pass, and each may get another answer.
    """

    type: str = CONDITION_RESOURCES_DEPLOYED
    status: bool = True
    reason: Reason = Reason.COMPONENT_UNREADABLE
    components: tuple[str, ...]
    why: str

    @property
    def key(self) -> Hashable:
        """Return the components."""
        return self.components

    def text(self) -> str:
        """Return the components, and the answer for the first of them."""
        return f"cannot be read: {listed(self.components)}: {self.why[:_LONGEST_WHY]}"
