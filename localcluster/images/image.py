"""A built image in a file."""

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Image:
    """`archive` is a docker-archive that holds it as `name`; `size` is its files' bytes."""

    name: str
    archive: Path
    size: int


@dataclass(frozen=True, slots=True)
class Images:
    """The images of the product."""

    webhook: Image
    controller: Image


def unpacked_size(archive: Path) -> int:
    """Return the bytes of all files in the layers of a docker-archive."""
    with tarfile.open(archive) as outer:
        manifest = outer.extractfile("manifest.json")
        assert manifest is not None
        total = 0
        for name in json.load(manifest)[0]["Layers"]:
            with tarfile.open(fileobj=outer.extractfile(name)) as layer:
                total += sum(member.size for member in layer if member.isfile())
        return total
