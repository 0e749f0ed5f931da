"""Full names for components that only say generateName.

The API server would choose the suffix while creating. Then a create that timed out could not be
looked up, so the suffix is chosen here, and stands in status before the create.
"""

import hashlib
from typing import Final

# The API server's own alphabet and lengths for generated names.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_LONGEST_BASE: Final = 63 - _SUFFIX_LENGTH


def generated_name(base: str, uid: str, attempt: int, index: int) -> str:
    """`base` and five characters that depend on the AppWrapper's UID, attempt and component."""
    seed = f"{uid}/{attempt}/{index}".encode()
    number = int.from_bytes(hashlib.sha256(seed).digest()[:8])
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, place = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[place]
    return base[:_LONGEST_BASE] + suffix
