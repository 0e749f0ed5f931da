"""Adds the prefix to the names of our annotations."""

from typing import Any

PREFIX = "workload.codeflare.dev.appwrapper/"


def prefixed(**annotations: Any) -> dict[str, Any]:
    """Puts the prefix before each name, as in `retryLimit="5"`."""
    return {PREFIX + name: value for name, value in annotations.items()}
