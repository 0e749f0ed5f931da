"""Builds AppWrappers of a given size."""

from typing import Any

from tests.support.builders.admission import POD, appwrapper, component
from tests.support.builders.appwrappers import QUEUE


def large(size: int) -> dict[str, Any]:
    """Builds about `size` bytes, all of them in small fields that are decoded strictly."""
    variables = [{"name": f"VARIABLE_{number}", "value": "x" * 40} for number in range(size // 74)]
    containers = [{"name": "c", "image": "i", "env": variables}]
    return appwrapper(component({**POD, "spec": {"containers": containers}}), labels=QUEUE)
