"""One pass over one AppWrapper: decide, read what the decision asks for, decide again, apply.

The time of the pass is read here, once.
"""

from datetime import datetime, timedelta
from typing import Final

from controller.apply.applier import Applier
from controller.facts.nodes import UNREACHABLE
from controller.facts.observe import Reads
from controller.fleet.reset_holds import ResetGate, ResetRequest
from controller.gather.snapshot_gatherer import Key, SnapshotGatherer
from controller.phases.actions import Actions, WakeAfter
from controller.phases.ask import Ask, Need
from controller.phases.decide import next_step
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from controller.runtime.worker import Done, RequeueAfter, Result
from shared.process.clock import Clock


class Reconciler:
    """Runs passes; has no state of its own."""

    def __init__(
        self,
        gatherer: SnapshotGatherer,
        applier: Applier,
        clock: Clock,
        reset_gate: ResetGate,
    ) -> None:
        self._gatherer = gatherer
        self._applier = applier
        self._clock = clock
        self._reset_gate = reset_gate

    async def reconcile(self, key: Key) -> Result:
        """Run one pass. Raises KubeError if a read or write fails."""
        now = self._clock.now()
        reads = await self._gatherer.begin(key, now)
        if reads is None:
            return Done()
        with self._reset_gate.request(reads.appwrapper.uid, key, now) as request:
            reads, actions = await self._decide(reads, now, request)
        observation = reads.observation
        delay = await self._applier.apply(observation, actions, now)
        delays = [each for each in (delay, observation.look_again) if each is not None]
        acted = any(not isinstance(action, WakeAfter) for action in actions)
        after = min(delays, default=None)
        return RequeueAfter(after, acted, rest_after(len(observation.pods), acted=acted))

    async def _decide(
        self, reads: Reads, now: datetime, request: ResetRequest
    ) -> tuple[Reads, Actions]:
        """Answer what the decision asks for, until it needs nothing more."""
        permitted: frozenset[str] = frozenset()  # the resources of the evacuation asked about
        while isinstance(step := next_step(reads.snapshot, now, reads.config), Ask):
            match step.need:
                case Need.PERMIT_RESET:
                    reads = reads.having(step.need, reset_hold=request.hold(None))
                case Need.PERMIT_EVACUATION:
                    permitted = _evacuated(reads.snapshot)
                    reads = reads.having(step.need, evacuation_hold=request.hold(permitted))
                case need:
                    reads = await self._gatherer.answered(reads, need)
                    if not _evacuated(reads.snapshot) <= permitted:
                        unread = reads.snapshot.unread | {Need.PERMIT_EVACUATION}
                        reads = reads.knowing(unread=unread)
        return reads, step


def _evacuated(snapshot: Snapshot) -> frozenset[str]:
    """Return the resources that cause an evacuation, or of pods on silent nodes in a reset."""
    if snapshot.phase is Phase.RESETTING:
        return snapshot.unreachable.resources if snapshot.unreachable else frozenset({UNREACHABLE})
    found = snapshot.evacuation or snapshot.unreachable
    return found.resources if found else frozenset()


# A pass over this many pods takes well under a millisecond.
_FEW_PODS: Final = 100
# Per pod, several times the duration of a pass. 1,000 pods that fail at once then cause less than
# ten passes a second, which leaves the event loop time for other AppWrappers.
_REST_PER_POD: Final = timedelta(microseconds=100)
_LONGEST_REST: Final = timedelta(milliseconds=500)


def rest_after(pods: int, *, acted: bool) -> timedelta:
    """Return how long an AppWrapper with this many pods rests after a pass.

    Zero for few pods, and after a pass that acted, because the next pass continues its work.
    """
    if pods <= _FEW_PODS or acted:
        return timedelta(0)
    return min(_LONGEST_REST, pods * _REST_PER_POD)
