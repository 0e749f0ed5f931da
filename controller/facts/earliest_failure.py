"""The policy `earliest`: choose the failure that caused the others. Pure.

The order of the failures in the input does not matter. The choice has two steps:

1. Leave out the failures that are consequences of another one (`_without_consequences`).
2. Each failure has an earliest and a latest time. The smallest latest time is a limit: failures
   whose earliest time is not after it are candidates. Their kind decides, then their time.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from controller.facts.recorded_times import NEVER, SECOND
from controller.facts.root_cause_evidence import Evidence, Looks

# torchrun gives its processes 30 s to end, so that a worker may end later than its victims.
_SLOW_END: Final = 60 * SECOND
# Freeing the memory of a process that uses GPUs takes seconds, and its container ends after that.
_TEARDOWN: Final = 5 * SECOND
_NO_RANK: Final = 2**80


def choose(found: Sequence[Evidence]) -> Evidence | None:
    """Return the root cause, or None if nothing failed."""
    own = _without_consequences(found)
    if not own:
        return None
    first_is_over = min(each.latest for each in own)
    return min((each for each in own if each.earliest <= first_is_over), key=_order)


# Consequences.


def _without_consequences(found: Sequence[Evidence]) -> Sequence[Evidence]:
    """Return the failures that are not consequences of others.

    The record of a terminated worker proves a consequence, unless all failures are such. If some
    time is not recorded, a failure that looks like a consequence may be one too (`_Causes`).
    """
    own = [each for each in found if not each.is_collateral] or found
    if all(each.recorded_time for each in own):
        return own
    looks = [(each, each.looks) for each in own]
    causes = _Causes(looks)
    return [each for each, look in looks if look is Looks.OWN or not causes.explain(each, look)]


class _Causes:
    """The failures that may have caused others."""

    def __init__(self, found: Sequence[tuple[Evidence, Looks]]) -> None:
        own = [each for each, look in found if look is Looks.OWN]
        self._own = sorted(each.finished for each in own if each.earliest != NEVER)
        self._has_late = any(each.is_reported_late for each in own)
        self._has_undated = any(each.earliest == NEVER for each in own)
        forced = (each.finished for each in own if each.is_forced and not each.recorded_time)
        self._first_forced = min(forced, default=None)
        kills = (each.finished for each, look in found if look is Looks.KILLED)
        self._first_kill = min(kills, default=None)

    def explain(self, each: Evidence, look: Looks) -> bool:
        """True if one of them may have caused this failure."""
        if look is Looks.LOST_PEER:
            return self._explain_lost_peer(each)
        if look is Looks.TERMINATED and (self._has_late or self._has_undated):
            return True
        # The cause ended before, or in the same second. A terminated worker may end in the second
        # before its cause.
        later = SECOND if look is Looks.TERMINATED else 0
        return bool(self._own) and self._own[0] <= each.finished + later

    def _explain_lost_peer(self, each: Evidence) -> bool:
        """True if the lost peer may be one of them.

        Peers notice the end of a process; its container ends later. A recorded time outweighs the
        text, but not a reason that Kubernetes reports (out of memory, evicted).
        """
        ended = each.earliest
        if self._has_late or _is_until(self._first_kill, ended + SECOND):
            return True
        if each.recorded_time:
            return _is_until(self._first_forced, ended + _TEARDOWN)
        if self._has_undated or ended == NEVER:
            return self._has_undated or bool(self._own)
        at = bisect_left(self._own, ended - _SLOW_END)
        return at < len(self._own) and self._own[at] <= ended + _SLOW_END


def _is_until(ended: int | None, until: int) -> bool:
    return ended is not None and ended <= until


# The order of the candidates.


def _order(each: Evidence) -> tuple[int | str | bool, ...]:
    """Return the sort key: kind, time, rank, name, then all that distinguishes two failures."""
    uid = each.pod.uid if each.pod else ""
    is_init = each.end is not None and each.end.init
    container = each.end.container if each.end else ""
    # Name and container identify a pod's failure; only the whole record identifies a bare record.
    record = repr(each.record) if each.pod is None else ""
    return (each.kind, each.earliest, _rank(each), each.name, uid, is_init, container, record)


def _rank(each: Evidence) -> int:
    """Return the rank that was recorded, else the pod's index."""
    if each.record is not None and each.record.rank is not None:
        return each.record.rank
    index = each.pod.index.rpartition("/")[2] if each.pod else ""
    return int(index) if index.isdecimal() and len(index) < 10 else _NO_RANK
