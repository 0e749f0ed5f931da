"""One pass over one AppWrapper: gather, decide, apply. The time is read once, here."""

from controller.apply.applier import Applier
from controller.gather.snapshot_gatherer import Key, SnapshotGatherer
from controller.phases import decide
from controller.phases.actions import RequeueAfter as Wait
from controller.runtime.outcome import Done, Outcome, RequeueAfter
from shared.clock import Clock


class Reconciler:
    """Holds no state of its own."""

    def __init__(self, gatherer: SnapshotGatherer, applier: Applier, clock: Clock) -> None:
        self._gatherer = gatherer
        self._applier = applier
        self._clock = clock

    async def reconcile(self, key: Key) -> Outcome:
        """Raises KubeError when it cannot see, or cannot write."""
        now = self._clock.now()
        observation = await self._gatherer.gather(key, now)
        if observation is None:
            return Done()
        actions = decide(observation.snapshot, now, observation.config)
        delay = await self._applier.apply(observation, actions, now)
        delays = [each for each in (delay, observation.look_again) if each is not None]
        acted = any(not isinstance(action, Wait) for action in actions)
        return RequeueAfter(min(delays, default=None), acted)
