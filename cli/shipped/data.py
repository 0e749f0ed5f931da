"""Read the shipped configurations of the overlays, and the pod schema.

`make generate` writes the configurations, `python -m scripts.pod_schema` the schema.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shared.pod_schema.pod_schema import Definitions

FOLDER: Final = Path(__file__).resolve().parent
# The names of the overlays in deploy/manifests. Each one's configuration is in NAME.yaml here.
OVERLAYS: Final = ("default", "mlbatch")


@dataclass(frozen=True, slots=True)
class ShippedPodSchema:
    """How an API server of Kubernetes `version` decodes pods."""

    version: str
    definitions: "Definitions"


@cache
def pod_schema() -> ShippedPodSchema:
    """Return the schema of the Kubernetes version that this project is tested with."""
    found = json.loads((FOLDER / "pod_schema.json").read_text(encoding="utf-8"))
    return ShippedPodSchema(found["kubernetes"], found["definitions"])
