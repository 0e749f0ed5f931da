"""Our annotations, by their names without the prefix."""

from typing import Any

from tests.support.builders.admission import appwrapper

PREFIX = "workload.codeflare.dev.appwrapper/"


def annotated(*components: Any, **annotations: Any) -> dict[str, Any]:
    """An AppWrapper with these annotations, `retryLimit="5"`."""
    made = appwrapper(*components)
    made["metadata"]["annotations"] = prefixed(**annotations)
    return made


def prefixed(**annotations: Any) -> dict[str, Any]:
    return {PREFIX + name: value for name, value in annotations.items()}
