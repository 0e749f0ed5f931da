"""Collects a layer's files for the Dockerfiles, each in its folder below /image.

python3 -m deploy.images.collect runtime
python3 -m deploy.images.collect packages LOCKFILE
python3 -m deploy.images.collect application BINARY SOURCES
"""

import sys
import tempfile
from pathlib import Path

from deploy.images import application, packages, runtime

IMAGE = Path("/image")


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    layer, *rest = arguments
    root = IMAGE / layer
    match layer:
        case "runtime":
            runtime.collect(root)
        case "packages":
            packages.collect(Path(rest[0]), root, IMAGE / "runtime")
        case "application":
            binary, sources = rest
            application.collect(Path(sources), root)
            with tempfile.TemporaryDirectory(dir=IMAGE) as folder:
                roots = [IMAGE / each for each in ("runtime", "packages", "application")]
                application.prove(roots, binary, Path(folder, "root"))
        case _:
            raise ValueError(layer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
