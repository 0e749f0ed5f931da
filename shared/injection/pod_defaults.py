"""What the operator's configuration adds to pods."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce

from shared.config.autopilot import Taint
from shared.config.configuration import AppWrapperConfig
from shared.injection.anti_affinity import AntiAffinity, anti_affinities, both


@dataclass(frozen=True, slots=True)
class PodDefaults:
    """`scheduler_name` empty adds nothing; `anti_affinities` are by resource."""

    scheduler_name: str = ""
    anti_affinities: Mapping[str, AntiAffinity] = field(default_factory=dict)

    def anti_affinity_of(self, resources: list[str]) -> AntiAffinity:
        """For a pod that asks for all of these, each of which has an anti-affinity."""
        return reduce(both, (self.anti_affinities[each] for each in resources))


def pod_defaults(config: AppWrapperConfig) -> PodDefaults:
    """Compiled once for each configuration, as the webhook asks at every request."""
    autopilot = config.autopilot
    taints = autopilot.resource_taints if autopilot.inject_anti_affinities else {}
    weight = autopilot.prefer_no_schedule_weight
    return _compiled(config.scheduler_name, tuple(taints.items()), weight)


@lru_cache(maxsize=8)
def _compiled(
    scheduler_name: str, taints: tuple[tuple[str, tuple[Taint, ...]], ...], weight: int
) -> PodDefaults:
    return PodDefaults(scheduler_name, anti_affinities(dict(taints), weight))
