"""Keeps two writers that undo each other's work from writing without end. Pure, no clock."""

from collections import deque


class Pace:
    """Allows `burst` writes at once, and then that many in any `window` seconds."""

    def __init__(self, burst: int, window: float) -> None:
        self._window = window
        self._written: deque[float] = deque(maxlen=burst)

    def wrote(self, at: float) -> None:
        """Counts a write; `at` is monotonic, in seconds."""
        self._written.append(at)

    def delay(self, at: float) -> float:
        """Seconds until the next write is allowed; 0 when it is allowed now."""
        if len(self._written) < (self._written.maxlen or 0):
            return 0.0
        return max(0.0, self._written[0] + self._window - at)
