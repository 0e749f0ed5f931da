"""Defines the options of a cluster, and encodes them for another process."""

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`components` are added to the control plane, KWOK and Kueue, which every cluster has.

    `directory` None means a new temporary folder. `product` adds our webhook and controller; the
    CRD and the team are there in any case. `real_node` adds a node whose pods are real; the product
    then runs there, and simulated nodes are tainted. `kueue` is its version; None means the version
    that is tested first.
    """

    components: frozenset[str] = frozenset()
    nodes: int = 8
    gpus_per_node: int = 8
    directory: Path | None = None
    product: bool = True
    real_node: bool = False
    kueue: str | None = None


def encode_options(options: ClusterOptions) -> str:
    """Return the options as text, for another process. `directory` must be set."""
    fields = asdict(options) | {"components": sorted(options.components)}
    return orjson.dumps(fields, default=str).decode()


def decode_options(text: str) -> ClusterOptions:
    """Return the options that `encode_options` wrote."""
    fields = orjson.loads(text)
    components, directory = frozenset(fields["components"]), Path(fields["directory"])
    return ClusterOptions(**fields | {"components": components, "directory": directory})
