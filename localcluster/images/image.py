"""A built image in a file."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Image:
    """`archive` is a docker-archive that holds it as `name`."""

    name: str
    archive: Path


@dataclass(frozen=True, slots=True)
class Images:
    """The images of the product."""

    webhook: Image
    controller: Image
