"""Count GPUs and GPU-hours. Pure."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from decimal import Context, Decimal
from typing import Final

from shared.api.amounts import ZERO
from shared.config.configuration import AppWrapperConfig

_HOUR: Final = Decimal(3600)
_CENT: Final = Decimal("0.01")
_EXACT: Final = Context(prec=2100)  # the digits of the longest quantity


def gpu_resources(behaviour: AppWrapperConfig) -> frozenset[str]:
    """Return the resources that count as GPUs: the operator's configuration names them."""
    return frozenset((*behaviour.autopilot.resource_taints, *behaviour.counted_resources))


def gpus_in(amounts: Mapping[str, Decimal], resources: Iterable[str]) -> Decimal:
    """Add the amounts of these resources."""
    return sum((amounts.get(each, ZERO) for each in resources), ZERO)


def gpu_hours(gpus: Decimal, time: timedelta) -> Decimal:
    """Return the hours of all the GPUs together, to a hundredth."""
    hours = gpus * Decimal(max(0, int(time.total_seconds()))) / _HOUR
    return hours.quantize(_CENT, context=_EXACT)
