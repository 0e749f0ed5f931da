"""The types of decoded JSON.

Objects of the API server travel as plain decoded JSON (design.md: pydantic costs too much on the
admission and watch paths); these aliases say so in signatures.
"""

from typing import Any

# `Any` on purpose: a recursive JSON type makes every read of a known field a cast.
JsonValue = Any
JsonObject = dict[str, Any]
