"""How many passes may run at once, by how fast the API server answers. Pure: no clock, no waits.

While a key waits in the work queue, further changes of it need no pass of their own: one decision
and one write cover them all. A request that waits in the API server's queue covers nothing more. So
passes beyond those that keep the API server busy only cost CPU. Measured with a hundred AppWrappers
at once on two cores: three concurrent passes needed a tenth less CPU than thirty-two, and the last
AppWrapper ended no later. If each answer takes 100 ms on its way, three passes of three requests
are ten a second, and the API server is idle.

The two cases differ in one way: a busy API server has answered faster. So the limit grows while
keys wait and answers are as fast as the fastest of the last minutes, and falls when answers become
slower. This holds for other clients' load too: more passes would only add to it. A 429
halves the limit.
"""

from dataclasses import dataclass, field
from typing import Final

LEAST: Final = 3
# 60 passes of three requests are 200 a second at 100 ms. A third of these may begin or end.
MOST: Final = 96

# Answers in a round, whose median decides; with a higher limit, as many as the limit.
ROUND: Final = 10
# Times the baseline: below the first, the limit grows by half, above the second it falls.
NEAR: Final = 1.25
RISEN: Final = 1.5
# Seconds after which the baseline counts no longer: the way to the API server may have changed.
FORGOTTEN: Final = 600.0


@dataclass(frozen=True, slots=True)
class Baseline:
    """The latency of an API server that is not busy, and the monotonic time of its measurement."""

    latency: float
    at: float


def next_baseline(baseline: Baseline | None, latency: float, passes: int, now: float) -> Baseline:
    """Return the lowest latency of the last minutes, or of a longer time in which many passes ran.

    `passes`: the most that ran while the answers came whose median is `latency`.
    """
    if baseline is None or latency <= baseline.latency:
        return Baseline(latency, now)
    if passes <= LEAST and now - baseline.at >= FORGOTTEN:
        return Baseline(latency, now)
    return baseline


def next_limit(limit: int, baseline: float, latency: float, *, wanted: bool) -> int:
    """Return the limit after a round of answers. `wanted`: keys waited for passes to end."""
    if latency > RISEN * baseline:
        return max(LEAST, limit * 3 // 4)
    if not wanted:
        return limit
    return min(MOST, limit + (limit // 2 if latency <= NEAR * baseline else 1))


@dataclass(slots=True)
class _Round:
    """The latencies of the answers since the limit was last checked, and the most passes meanwhile.

    `wanted`: a key waited because of the limit.
    """

    latencies: list[float] = field(default_factory=list)
    passes: int = 0
    wanted: bool = False


class PassLimit:
    """The current limit, which answers of the API server change."""

    def __init__(self) -> None:
        self.limit = LEAST
        self._baseline: Baseline | None = None
        self._round = _Round()
        self._outdated = 0  # answers to come to requests under a higher limit

    def has_room(self, passes: int) -> bool:
        """True if another pass may begin beside these. Ask only if a key waits."""
        if passes < self.limit:
            return True
        self._round.wanted = True
        return False

    def answered(self, seconds: float, passes: int, now: float, *, rejected: bool) -> None:
        """Learn from an answer, which came while so many passes ran. `rejected`: it was a 429."""
        if rejected:
            self._lower(max(LEAST, self.limit // 2), passes)
            return
        if self._outdated:
            self._outdated -= 1
            return
        current = self._round
        current.latencies.append(seconds)
        current.passes = max(current.passes, passes)
        if len(current.latencies) >= max(ROUND, self.limit):
            self._end(current, now)

    def _end(self, ended: _Round, now: float) -> None:
        self._round = _Round()
        latency = sorted(ended.latencies)[len(ended.latencies) // 2]
        self._baseline = next_baseline(self._baseline, latency, ended.passes, now)
        limit = next_limit(self.limit, self._baseline.latency, latency, wanted=ended.wanted)
        if limit < self.limit:
            self._lower(limit, ended.passes)
        self.limit = limit

    def _lower(self, limit: int, passes: int) -> None:
        self.limit = limit
        self._outdated = passes
        self._round = _Round()
