"""The policy `earliest`: choose the failure that caused the others. Pure.

The order of the failures in the input does not matter. The choice has two steps:

1. Leave out the failures that are consequences of another one (`_without_consequences`).
2. Each failure has an earliest and a latest time. The smallest latest time is a limit: failures
   whose earliest time is not after it are candidates. Their kind decides, then their time.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from controller.facts.evidence import Evidence, Kind, Looks
from controller.facts.instants import SECOND

# torchrun gives its processes 30 s to end, so that a worker may end later than its victims.
_SLOW_END: Final = 60 * SECOND
# Freeing the memory of a process that uses GPUs takes seconds, and its container ends after that.
_TEARDOWN: Final = 5 * SECOND
_NEVER: Final = 2**80  # after all times
_NO_RANK: Final = 2**80


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The root cause and the runner-up.

    `gap`: how much later the runner-up failed; negative if earlier, None if a time is unknown.
    `ambiguous`: another failure of the same kind was too close in time to decide.
    """

    first: Evidence
    second: Evidence | None = None
    gap: timedelta | None = None
    ambiguous: bool = False


def choose(found: Sequence[Evidence], skew: timedelta) -> Choice | None:
    """Return the root cause with the runner-up, or None if nothing failed.

    `skew`: the greatest difference between the clocks of two nodes.
    """
    known = _Known()
    candidates = _candidates(found, skew, known)
    if not candidates:
        return None
    first = candidates[0].evidence
    rest = _candidates([each for each in found if each is not first], skew, known)
    second = rest[0].evidence if rest else None
    return Choice(
        first=first,
        second=second,
        gap=_gap(first, second),
        ambiguous=len(candidates) > 1 and candidates[1].kind is candidates[0].kind,
    )


def _gap(first: Evidence, second: Evidence | None) -> timedelta | None:
    if second is None or first.earliest is None or second.earliest is None:
        return None
    return timedelta(microseconds=(second.earliest - first.earliest) // 1000)


# Consequences.


class _Known:
    """Caches kinds and looks by the identity of the evidence: searching texts is costly."""

    def __init__(self) -> None:
        self._kinds: dict[int, Kind] = {}
        self._looks: dict[int, Looks] = {}

    def kind(self, each: Evidence) -> Kind:
        if (kind := self._kinds.get(id(each))) is None:
            kind = self._kinds[id(each)] = each.kind
        return kind

    def looks(self, each: Evidence) -> Looks:
        if (looks := self._looks.get(id(each))) is None:
            looks = self._looks[id(each)] = each.looks
        return looks


def _without_consequences(
    found: Sequence[Evidence], tolerance: int, known: _Known
) -> Sequence[Evidence]:
    """Return the failures that are not consequences of others.

    The record of a terminated worker proves a consequence, unless all failures are such. If some
    time is not recorded, a failure that looks like a consequence may be one too (`_Causes`).
    """
    own = [each for each in found if not each.told_to_end] or found
    if all(each.recorded_time for each in own):
        return own
    looks = [(each, known.looks(each)) for each in own]
    causes = _Causes(looks, tolerance)
    return [each for each, look in looks if look is Looks.OWN or not causes.explain(each, look)]


class _Causes:
    """The failures that may have caused others. `tolerance` is in nanoseconds."""

    def __init__(self, found: Sequence[tuple[Evidence, Looks]], tolerance: int) -> None:
        own = [each for each, look in found if look is Looks.OWN]
        self._own = sorted(_ended(each) for each in own if each.earliest is not None)
        self._has_late = any(each.is_reported_late for each in own)
        self._has_undated = any(each.earliest is None for each in own)
        forced = (_ended(each) for each in own if each.is_forced and not each.recorded_time)
        self._first_forced = min(forced, default=None)
        kills = (_ended(each) for each, look in found if look is Looks.KILLED)
        self._first_kill = min(kills, default=None)
        self._tolerance = tolerance

    def explain(self, each: Evidence, look: Looks) -> bool:
        """True if one of them may have caused this failure."""
        if look is Looks.LOST_PEER:
            return self._explain_lost_peer(each)
        if look is Looks.TERMINATED and (self._has_late or self._has_undated):
            return True
        # The cause ended before, or in the same second. A terminated worker may end in the second
        # before its cause.
        later = self._tolerance + (SECOND if look is Looks.TERMINATED else 0)
        return bool(self._own) and self._own[0] <= _dated(each) + later

    def _explain_lost_peer(self, each: Evidence) -> bool:
        """True if the lost peer may be one of them.

        Peers notice the end of a process; its container ends later. A recorded time outweighs the
        text, but not a reason that Kubernetes reports (out of memory, evicted).
        """
        ended = each.earliest if each.recorded_time and each.earliest is not None else _dated(each)
        if self._has_late or self._is_until(self._first_kill, ended + SECOND):
            return True
        if each.recorded_time:
            return self._is_until(self._first_forced, ended + _TEARDOWN)
        if self._has_undated or ended == _NEVER:
            return self._has_undated or bool(self._own)
        at = bisect_left(self._own, ended - _SLOW_END)
        return at < len(self._own) and self._own[at] <= ended + _SLOW_END

    def _is_until(self, ended: int | None, until: int) -> bool:
        return ended is not None and ended <= until + self._tolerance


def _dated(each: Evidence) -> int:
    return _NEVER if each.earliest is None else _ended(each)


def _ended(each: Evidence) -> int:
    return _NEVER if each.finished is None else each.finished


# Candidates.


@dataclass(frozen=True, slots=True)
class _Candidate:
    evidence: Evidence
    kind: Kind


def _candidates(found: Sequence[Evidence], skew: timedelta, known: _Known) -> list[_Candidate]:
    """Return the candidates for the first failure, the likeliest first."""
    tolerance = skew // timedelta(microseconds=1) * 1000
    own = _without_consequences(found, tolerance, known)
    if not own:
        return []
    first_is_over = min(_latest(each) for each in own) + tolerance
    near = [each for each in own if _earliest(each) - tolerance <= first_is_over]
    return sorted((_Candidate(each, known.kind(each)) for each in near), key=_order)


def _earliest(each: Evidence) -> int:
    return _NEVER if each.earliest is None else each.earliest


def _latest(each: Evidence) -> int:
    return _NEVER if each.latest is None else each.latest


def _order(candidate: _Candidate) -> tuple[int | str | bool, ...]:
    """Return the sort key: kind, time, rank, name, then all that distinguishes two failures."""
    each = candidate.evidence
    uid = each.pod.uid if each.pod else ""
    is_init = each.end is not None and each.end.init
    container = each.end.container if each.end else ""
    # Name and container identify a pod's failure; only the whole record identifies a bare record.
    said = repr(each.record) if each.pod is None else ""
    return (candidate.kind, _earliest(each), _rank(each), each.name, uid, is_init, container, said)


def _rank(each: Evidence) -> int:
    """Return the rank that was recorded, else the pod's index."""
    if each.record is not None and each.record.rank is not None:
        return each.record.rank
    index = each.pod.index.rpartition("/")[2] if each.pod else ""
    return int(index) if index.isdecimal() and len(index) < 10 else _NO_RANK
