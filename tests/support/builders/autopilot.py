"""Builds configurations of Autopilot, each as short as its test allows."""

from typing import Any

from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import Autopilot, Taint

GPU = "nvidia.com/gpu"
HEALTH = "autopilot.ibm.com/gpuhealth"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

# The default configuration injects this into pods that request GPUs.
BAD: dict[str, Any] = {"key": HEALTH, "operator": "NotIn", "values": ["ERR", "TESTING", "EVICT"]}
WORSE: dict[str, Any] = {
    "weight": 50,
    "preference": {"matchExpressions": [{"key": HEALTH, "operator": "NotIn", "values": ["WARN"]}]},
}
BY_DEFAULT: dict[str, Any] = {
    "nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [BAD]}]},
        PREFERRED: [WORSE],
    }
}


def taint(value: str, effect: str = "NoSchedule", key: str = HEALTH) -> Taint:
    return Taint.model_validate({"key": key, "value": value, "effect": effect})


# MLBatch's configuration.
SEEDS = (taint("ERR"), taint("EVICT", "NoExecute"))


def config(
    *gpu_taints: Taint,
    scheduler_name: str = "",
    inject: bool = True,
    weight: int = 50,
    **others: tuple[Taint, ...],
) -> AppWrapperConfig:
    """Builds taints of GPUs, the seeds' by default; `others` by the name of the resource."""
    autopilot = Autopilot(
        inject_anti_affinities=inject,
        resource_taints={GPU: gpu_taints or SEEDS, **others},
        prefer_no_schedule_weight=weight,
    )
    return AppWrapperConfig(scheduler_name=scheduler_name, autopilot=autopilot)
