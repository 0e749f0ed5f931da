"""Parse Kubernetes quantities: `8`, `500m`, `1.5Gi`, `1e3`.

The grammar is that of the API server's decoder, with its accidents: a missing number counts as zero
(`k` is 0), leading signs and zeros are valid. This parser adds two limits. Beyond them the API
server itself computes for minutes, so no working value is refused.
"""

import re
from decimal import ROUND_UP, Context, Decimal
from typing import Final

from shared.api.objects import JsonValue, type_of

_LONGEST_TEXT: Final = 1000  # characters
_LARGEST_EXPONENT: Final = 999  # of 10, either sign
_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?)"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
# Quantities that need no full parse to be valid. Most are; a hostile object can hold 100,000.
PLAIN_QUANTITY: Final = re.compile(
    r" {0,9}[+-]?(?:[0-9]{1,99}(?:\.[0-9]{0,99})?|\.[0-9]{1,99})"
    r"(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})? {0,9}"
)
_BINARY: Final = {f"{prefix}i": 2 ** (10 * n) for n, prefix in enumerate("KMGTPE", start=1)}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3} | {p: 3 * n for n, p in enumerate("kMGTPE", start=1)}
_FINEST: Final = -9  # the exponent of the smallest part that Kubernetes keeps
_NANO: Final = Decimal((0, (1,), _FINEST))
_LARGEST_BINARY: Final = Decimal(2**63 - 1)
_EXACT: Final = Context(prec=_LONGEST_TEXT + _LARGEST_EXPONENT + 100, rounding=ROUND_UP)
# The unescaped JSON characters that Go trims: its decoder trims before it unescapes.
_SPACE: Final = " \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"


class QuantityError(ValueError):
    """A value that is no quantity. The message shows valid ones."""


def parse_quantity(value: JsonValue) -> Decimal:
    """Return the number that Kubernetes reads from a string or a JSON number.

    Parts below a billionth are rounded away from zero. Amounts with a binary suffix are at most
    2**63 - 1, of either sign. Raise QuantityError.
    """
    if isinstance(value, str):
        text = value.strip(_SPACE)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        text = repr(value)
    else:
        raise QuantityError(f"{type_of(value)} is not a quantity such as 8, 500m or 16Gi")
    if len(text) > _LONGEST_TEXT:
        raise QuantityError(f"{_shown(value)} is longer than {_LONGEST_TEXT} characters")
    match = _QUANTITY.fullmatch(text)
    if match is None or not text:
        raise _refused(value)
    number = _number(match, value)
    if suffix := match["binary"]:
        amount = _EXACT.multiply(number, Decimal(_BINARY[suffix]))
        amount = max(-_LARGEST_BINARY, min(amount, _LARGEST_BINARY))
    else:
        amount = number.scaleb(_exponent(match, value), context=_EXACT)
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < _FINEST:
        return amount.quantize(_NANO, context=_EXACT)
    return amount


def _number(match: re.Match[str], value: JsonValue) -> Decimal:
    """Return the part before the suffix; 0 if it is missing."""
    if match["whole"] or match["fraction"]:
        return Decimal(match["number"])
    # Kubernetes also rejects a missing number outside its fast path for small amounts.
    if match["binary"] in ("Pi", "Ei") or _exponent(match, value) < _FINEST:
        raise _refused(value)
    return Decimal()


def _exponent(match: re.Match[str], value: JsonValue) -> int:
    if suffix := match["decimal"]:
        return _DECIMAL[suffix]
    exponent = int(match["exponent"] or 0)
    if abs(exponent) > _LARGEST_EXPONENT:
        raise QuantityError(
            f"{_shown(value)} is out of range: "
            f"the exponent must be from -{_LARGEST_EXPONENT} to {_LARGEST_EXPONENT}"
        )
    return exponent


def _refused(value: JsonValue) -> QuantityError:
    return QuantityError(f"{_shown(value)} is not a quantity such as 8, 500m or 16Gi")


def _shown(value: JsonValue) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
