"""What Autopilot's node labels mean: `appwrapper.autopilot`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from shared.config.values import Section


class Taint(Section):
    """A value of a node label that makes a resource of the node unfit."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


def _default_taints() -> dict[str, tuple[Taint, ...]]:
    # ERR and EVICT are MLBatch's; TESTING and WARN are what Autopilot writes today besides.
    key = "autopilot.ibm.com/gpuhealth"
    return {
        "nvidia.com/gpu": (
            Taint(key=key, value="ERR", effect="NoSchedule"),
            Taint(key=key, value="TESTING", effect="NoSchedule"),
            Taint(key=key, value="EVICT", effect="NoExecute"),
            Taint(key=key, value="WARN", effect="PreferNoSchedule"),
        )
    }


class Autopilot(Section):
    """Which node labels keep pods away, and which drive running pods off."""

    inject_anti_affinities: bool = True
    monitor_nodes: bool = True
    # Resource name -> taints. A configured resource replaces the default's list for that resource;
    # other resources keep theirs, as in the Go operator. An empty list switches a resource off.
    resource_taints: Annotated[
        dict[str, tuple[Taint, ...]], AfterValidator(lambda given: {**_default_taints(), **given})
    ] = Field(default_factory=_default_taints)
    prefer_no_schedule_weight: int = 50
