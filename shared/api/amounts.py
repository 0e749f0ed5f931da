"""Read amounts of resources from quantities, add them and format them for people. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from typing import Final

from shared.api.objects import JsonValue
from shared.api.quantities import QuantityError, parse_quantity

Amounts = Mapping[str, Decimal]  # by resource name

ZERO: Final = Decimal(0)
_TENTH: Final = Decimal("0.1")
_THOUSANDTH: Final = Decimal("0.001")
# The digits of the longest quantity: a workload with 1e30 CPUs must not end an admin's report.
_EXACT: Final = Context(prec=2100)
_BINARY: Final = tuple((f"{each}i", 2 ** (10 * n)) for n, each in enumerate("KMGTPE", start=1))
_MEASURED_IN_BYTES: Final = ("memory", "storage", "ephemeral-storage", "hugepages-")
_LONGEST: Final = 100_000  # longer numbers of a unit are hard to read


def read_amount(value: object, unreadable: Decimal = ZERO) -> Decimal:
    """Return the quantity as a number, 0 for None, `unreadable` for a value that is no quantity."""
    try:
        return ZERO if value is None else parse_quantity(value)
    except QuantityError:
        return unreadable  # the API server stores no such value


def read_amounts(value: JsonValue) -> dict[str, Decimal]:
    """Read a resource list (`{cpu: 500m}`)."""
    if not isinstance(value, dict):
        return {}
    return {name: read_amount(each) for name, each in value.items()}


def added_up(several: Iterable[Amounts]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for each in several:
        for name, amount in each.items():
            total[name] = total.get(name, ZERO) + amount
    return total


def largest(several: Iterable[Amounts]) -> dict[str, Decimal]:
    most: dict[str, Decimal] = {}
    for each in several:
        for name, amount in each.items():
            most[name] = max(most.get(name, ZERO), amount)
    return most


def amount_text(amount: Decimal, resource: str) -> str:
    """Format `8`, `0.5`, `137.5Gi`: bytes with a binary suffix, exact if that is short."""
    if not resource.startswith(_MEASURED_IN_BYTES):
        return _plain(_rounded(amount, _THOUSANDTH))
    fitting = [(suffix, amount / size) for suffix, size in _BINARY if abs(amount) >= size]
    for suffix, number in reversed(fitting):
        if abs(number) < _LONGEST and number == _rounded(number, _TENTH):
            return f"{_plain(number)}{suffix}"
    suffix, number = fitting[-1] if fitting else ("", amount)
    return f"{_plain(_rounded(number, _TENTH))}{suffix}"


def resource_text(amount: Decimal, resource: str) -> str:
    """Format `8 nvidia.com/gpu`."""
    return f"{amount_text(amount, resource)} {resource}"


def resources_text(amounts: Mapping[str, Decimal]) -> str:
    """Format `8 nvidia.com/gpu, 16Gi memory`."""
    return ", ".join(resource_text(amount, name) for name, amount in amounts.items())


def _rounded(value: Decimal, to: Decimal) -> Decimal:
    return value.quantize(to, context=_EXACT)


def _plain(value: Decimal) -> str:
    return str(int(value)) if value == int(value) else f"{value.normalize():f}"
