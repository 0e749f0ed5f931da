"""How long one AppWrapper pauses between two attempts. Pure.

What failed together, by an outage of a file system say, would start again together. Each
AppWrapper's pause is therefore up to a tenth longer, by chance that is the same at every look.
"""

from datetime import timedelta
from hashlib import blake2b
from typing import Final

LONGEST_EXTENSION: Final = 0.1  # of the pause

_DIGEST_SIZE: Final = 4  # bytes
_LARGEST: Final = 2 ** (8 * _DIGEST_SIZE) - 1


def spread_out(pause: timedelta, uid: str, attempt: int) -> timedelta:
    """`pause` and up to a tenth of it; no pause stays none."""
    digest = blake2b(f"{uid}/{attempt}".encode(), digest_size=_DIGEST_SIZE).digest()
    share = int.from_bytes(digest, "big") / _LARGEST
    return pause + share * LONGEST_EXTENSION * pause
