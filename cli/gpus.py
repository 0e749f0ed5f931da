"""Count the GPUs that pods request. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from shared.api.amounts import ZERO
from shared.config.configuration import AppWrapperConfig


def gpu_resources(behaviour: AppWrapperConfig) -> frozenset[str]:
    """Return the resources that count as GPUs: the operator's configuration names them."""
    return frozenset((*behaviour.autopilot.resource_taints, *behaviour.counted_resources))


def gpus_in(amounts: Mapping[str, Decimal], resources: Iterable[str]) -> Decimal:
    """Add the amounts of these resources."""
    return sum((amounts.get(each, ZERO) for each in resources), ZERO)
