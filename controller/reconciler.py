"""One pass over one AppWrapper: gather, decide, apply. The time is read once, here."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from controller.apply.applier import Applier
from controller.facts.observe import Observation
from controller.fleet.reset_gate import Asking, ResetGate
from controller.gather.snapshot_gatherer import Key, SnapshotGatherer
from controller.phases import decide
from controller.phases.actions import Actions, MoveTo, Reason, WakeAfter
from controller.phases.needs import Need, needs_before
from controller.phases.phase import Phase
from controller.phases.snapshot import HoldReason, ResetHold, Snapshot
from controller.runtime.worker import Done, RequeueAfter, Result
from shared.process.clock import Clock

# An evacuation, and where that must wait another reset: each may be refused once.
_QUESTIONS: Final = 2


class Reconciler:
    """Holds no state of its own."""

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
        """Raises KubeError when it cannot see, or cannot write."""
        now = self._clock.now()
        observation = await self._gatherer.gather(key, now)
        if observation is None:
            return Done()
        # What pods recorded of their failures decides whether there is another attempt at all, so
        # the store is asked before a reset asks for its turn.
        if records := _wants_records(observation, now):
            observation = await self._gatherer.gather(key, now, records=True)
            if observation is None:
                return Done()
        actions = self._decided(observation, key, now)
        if Need.LIVE_PODS in needs_before(actions, observation.snapshot, observation.config):
            # The watch of pods may lag behind, and they may have healed: what runs must not end.
            observation = await self._gatherer.gather(key, now, live_pods=True, records=records)
            if observation is None:
                return Done()
            actions = self._decided(observation, key, now)
        delay = await self._applier.apply(observation, actions, now)
        delays = [each for each in (delay, observation.look_again) if each is not None]
        acted = any(not isinstance(action, WakeAfter) for action in actions)
        after = min(delays, default=None)
        return RequeueAfter(after, acted, rest_after(len(observation.pods), acted=acted))

    def _decided(self, observation: Observation, key: Key, now: datetime) -> Actions:
        actions = decide(observation.snapshot, now, observation.config)
        if _to_be_asked_for(actions) is None and key not in self._reset_gate.askers:
            return actions  # there is nothing to ask for, nor to give back
        with self._reset_gate.asking(observation.appwrapper.uid, key, now) as asking:
            return _permitted(observation, actions, now, asking)


# A pass over so many pods takes well under a millisecond.
_FEW_PODS: Final = 100
# Per pod, several times what a pass takes; 1,000 workers that fail at once are then less than ten
# passes a second, and the event loop has time for the passes of others.
_REST_PER_POD: Final = timedelta(microseconds=100)
_LONGEST_REST: Final = timedelta(milliseconds=500)


def rest_after(pods: int, *, acted: bool) -> timedelta:
    """Return how long an AppWrapper of so many pods rests after a pass.

    Zero if few pods are there, and after a pass that acted: the next one goes on with that.
    """
    if pods <= _FEW_PODS or acted:
        return timedelta(0)
    return min(_LONGEST_REST, pods * _REST_PER_POD)


def _wants_records(observation: Observation, now: datetime) -> bool:
    snapshot, config = observation.snapshot, observation.config
    if not config.error_store:
        return False
    return Need.RECORDS in needs_before(decide(snapshot, now, config), snapshot, config)


def _permitted(
    observation: Observation, actions: Actions, now: datetime, asking: Asking
) -> Actions:
    """What to do, given that a reset may have to wait; then it is decided what to do meanwhile."""
    snapshot = observation.snapshot
    for _ in range(_QUESTIONS):
        move = _to_be_asked_for(actions)
        if move is None:
            return actions
        hold = asking.hold(_evacuated(move, snapshot))
        if hold is None:
            return actions
        snapshot = _held(snapshot, hold)
        actions = decide(snapshot, now, observation.config)
    if _to_be_asked_for(actions) is not None:
        raise RuntimeError(f"this was decided on though it must wait: {snapshot.reset_hold}")
    return actions


def _to_be_asked_for(actions: Actions) -> MoveTo | None:
    """A reset, or what a node's label asks for of one that has no retry left."""
    for action in actions:
        if isinstance(action, MoveTo):
            driven = action.reason is Reason.AUTOPILOT_NO_EXECUTE
            return action if action.phase is Phase.RESETTING or driven else None
    return None


def _evacuated(move: MoveTo, snapshot: Snapshot) -> frozenset[str] | None:
    """The resources that an evacuation is about; None for any other reset."""
    if move.reason is not Reason.AUTOPILOT_NO_EXECUTE or snapshot.evacuation is None:
        return None
    return snapshot.evacuation.resources


def _held(snapshot: Snapshot, hold: ResetHold) -> Snapshot:
    """A second refusal is that of another reset; the evacuation was refused before."""
    if snapshot.reset_hold is not None and snapshot.reset_hold.reason is HoldReason.BREAKER:
        return replace(snapshot, reset_hold=hold, evacuation=None)
    return replace(snapshot, reset_hold=hold)
