"""The reads of one pass over one AppWrapper."""

from dataclasses import dataclass, replace
from typing import Any

from controller.facts.observe import GatherContext, Observation
from controller.facts.pods import Pod
from controller.phases.ask import Need
from controller.phases.snapshot import Component, Snapshot


@dataclass(frozen=True, slots=True)
class Reads:
    """The answers so far. `pods`: of the cache, until they are read live."""

    context: GatherContext
    observation: Observation
    components: tuple[Component, ...] = ()
    pods: tuple[Pod, ...] = ()

    @property
    def snapshot(self) -> Snapshot:
        """The input of the decision."""
        return self.observation.snapshot

    def knowing(self, **facts: Any) -> "Reads":
        """Return the reads with these fields of the snapshot, now and when it is observed again."""
        known = replace(self.context.snapshot, **facts)
        shared = self.snapshot is self.context.snapshot  # until it is observed
        context = replace(self.context, snapshot=known)
        snapshot = known if shared else replace(self.snapshot, **facts)
        observation = replace(self.observation, snapshot=snapshot)
        return replace(self, context=context, observation=observation)

    def having(self, need: Need, **facts: Any) -> "Reads":
        """Return the reads with `need` answered."""
        return self.knowing(unread=self.snapshot.unread - {need}, **facts)
