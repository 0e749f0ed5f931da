"""Read the shipped configurations of the overlays, pod schema and fault-tolerance options.

`make generate` writes the configurations and options, `python -m scripts.pod_schema` the schema.
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
OPTIONS: Final = "fault_tolerance_options.json"


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


@dataclass(frozen=True, slots=True)
class FaultToleranceOption:
    """An option (`--retry-limit`) that sets the AppWrapper's annotation `key`."""

    option: str
    key: str
    metavar: str
    help: str


def fault_tolerance_options() -> tuple[FaultToleranceOption, ...]:
    """Return the options in the order of `shared.annotations.TABLE`.

    The import of that module would make --help slow.
    """
    found = json.loads((FOLDER / OPTIONS).read_text(encoding="utf-8"))
    return tuple(FaultToleranceOption(**each) for each in found)
