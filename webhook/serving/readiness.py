"""Whether this replica can judge: only if nothing that it needs has a problem."""

from collections.abc import Callable

Problem = Callable[[], str | None]


class Readiness:
    """Asks each of `problems` at every question."""

    def __init__(self, *problems: Problem) -> None:
        self._problems = problems

    def problem(self) -> str | None:
        """Why not, one line a reason; None when all is well."""
        found = [text for problem in self._problems if (text := problem()) is not None]
        return "\n".join(found) or None
