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
# The digits of the longest quantity: a workload with 1e30 CPUs must not end the admin's report.
_EXACT: Final = Context(prec=2100)
_BINARY: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_BYTES: Final = frozenset({"memory", "ephemeral-storage"})


def amount(value: JsonValue) -> Decimal:
    """Return the quantity as a number, 0 for None."""
    try:
        return ZERO if value is None else parse_quantity(value)
    except QuantityError:
        return ZERO  # the API server stores no such value


def amounts(value: JsonValue) -> dict[str, Decimal]:
    """Read a resource list (`{cpu: 500m}`)."""
    return {name: amount(each) for name, each in value.items()} if isinstance(value, dict) else {}


def total(several: Iterable[Amounts]) -> dict[str, Decimal]:
    """Add amounts, resource by resource."""
    found: dict[str, Decimal] = {}
    for each in several:
        for name, value in each.items():
            found[name] = found.get(name, ZERO) + value
    return found


def shown(resource: str, value: Decimal) -> str:
    """Format an amount for people (`8`, `0.5`, `137.5Gi`), exact if that is short."""
    if resource in _BYTES:
        fitting = [(suffix, value / size) for suffix, size in _BINARY if value >= size]
        for suffix, number in fitting:
            if number == _rounded(number, _TENTH):
                return f"{_plain(number)}{suffix}"
        for suffix, number in fitting:
            return f"{_plain(_rounded(number, _TENTH))}{suffix}"
    return _plain(_rounded(value, _THOUSANDTH))


def _rounded(value: Decimal, to: Decimal) -> Decimal:
    return value.quantize(to, context=_EXACT)


def _plain(value: Decimal) -> str:
    return str(int(value)) if value == int(value) else f"{value.normalize():f}"
