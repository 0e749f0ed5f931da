"""One pass over one AppWrapper: gather, decide, apply. The time of the pass is read here, once."""

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

# An evacuation, and another reset if the evacuation must wait: the gate may hold each once.
_QUESTIONS: Final = 2
_LIVE: Final = frozenset({Need.LIVE_PODS, Need.LIVE_LABELS})


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
        decided = await self._observe_and_decide(key, now)
        if decided is None:
            return Done()
        observation, actions = decided
        delay = await self._applier.apply(observation, actions, now)
        delays = [each for each in (delay, observation.look_again) if each is not None]
        acted = any(not isinstance(action, WakeAfter) for action in actions)
        after = min(delays, default=None)
        return RequeueAfter(after, acted, rest_after(len(observation.pods), acted=acted))

    async def _observe_and_decide(
        self, key: Key, now: datetime
    ) -> tuple[Observation, Actions] | None:
        """Observe again until the decision has all that it needs; None if the object is gone."""
        asked: frozenset[Need] = frozenset()
        while True:
            observation = await self._gatherer.gather(key, now, asked)
            if observation is None:
                return None
            # The pods' error records decide whether another attempt is allowed, so the store is
            # read before the reset gate is asked.
            if Need.RECORDS not in asked and self._wants_records(observation, now):
                asked |= {Need.RECORDS}
                continue
            actions = self._decided(observation, key, now)
            needed = needs_before(actions, observation.snapshot, observation.config)
            # Watches may lag behind. Pods that have healed, or whose node has, must not be deleted.
            more = needed & _LIVE - asked
            if not more:
                return observation, actions
            asked |= more

    def _wants_records(self, observation: Observation, now: datetime) -> bool:
        """True if a failure is to be answered, maybe because an evacuation is held."""
        snapshot, config = observation.snapshot, observation.config
        if not config.error_store:
            return False
        actions = decide(snapshot, now, config)
        move = _to_be_asked_for(actions)
        resources = None if move is None else _evacuated(move, snapshot)
        if resources is not None and (hold := self._reset_gate.evacuation(resources)) is not None:
            actions = decide(_held(snapshot, hold), now, config)
        return Need.RECORDS in needs_before(actions, snapshot, config)

    def _decided(self, observation: Observation, key: Key, now: datetime) -> Actions:
        actions = decide(observation.snapshot, now, observation.config)
        if _to_be_asked_for(actions) is None and key not in self._reset_gate.askers:
            return actions  # there is no request to make or to withdraw
        with self._reset_gate.asking(observation.appwrapper.uid, key, now) as asking:
            return _permitted(observation, actions, now, asking)


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


def _permitted(
    observation: Observation, actions: Actions, now: datetime, asking: Asking
) -> Actions:
    """Return the actions that the reset gate permits; if a reset must wait, decide again."""
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
    """Return the reset or evacuation among the actions, which needs a permit; None without one."""
    for action in actions:
        if isinstance(action, MoveTo):
            driven = action.reason is Reason.AUTOPILOT_NO_EXECUTE
            return action if action.phase is Phase.RESETTING or driven else None
    return None


def _evacuated(move: MoveTo, snapshot: Snapshot) -> frozenset[str] | None:
    """Return the resources that cause an evacuation; None for any other reset."""
    if move.reason is not Reason.AUTOPILOT_NO_EXECUTE or snapshot.evacuation is None:
        return None
    return snapshot.evacuation.resources


def _held(snapshot: Snapshot, hold: ResetHold) -> Snapshot:
    """Add a hold. After a hold of the evacuation, a second one holds another reset."""
    if snapshot.reset_hold is not None and snapshot.reset_hold.reason is HoldReason.BREAKER:
        return replace(snapshot, reset_hold=hold, evacuation=None)
    return replace(snapshot, reset_hold=hold)
