"""Measures the size of an image and of its largest parts."""

import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_MEGABYTE = 1_000_000


def layer_files(archive: Path) -> Iterator[tuple[str, int]]:
    """Yields path and bytes of every file in the layers of a docker-archive, bottom layer first."""
    with tarfile.open(archive) as outer:
        manifest = outer.extractfile("manifest.json")
        assert manifest is not None
        for name in json.load(manifest)[0]["Layers"]:
            with tarfile.open(fileobj=outer.extractfile(name)) as layer:
                for member in layer:
                    if member.isfile():
                        yield member.name, member.size


def unpacked_size(archive: Path) -> int:
    """Returns the bytes of all files."""
    return sum(size for _, size in layer_files(archive))


def part_of(name: str) -> str:
    """Returns the part of a file: a package, the standard library, our sources."""
    parts = PurePosixPath(name).parts
    if parts[0] == "packages" and len(parts) > 1:
        return f"package {parts[1].partition('-')[0].partition('.')[0]}"
    if parts[0] == "app":
        return "our sources"
    if any(part.startswith("python3") for part in parts[:-1]):
        return "the standard library"
    if parts[-1].startswith("python"):
        return "the interpreter"
    if ".so" in parts[-1]:
        return "shared libraries"
    return "the rest"


def parts(archive: Path) -> Counter[str]:
    """Returns part → bytes."""
    weights: Counter[str] = Counter()
    for name, size in layer_files(archive):
        weights[part_of(name)] += size
    return weights


def report(name: str, archive: Path, count: int = 10) -> str:
    """Formats the total and the largest parts for people."""
    weights = parts(archive)
    lines = [f"{name}: {weights.total() / _MEGABYTE:.1f} MB"]
    heaviest = weights.most_common(count)
    lines += [f"  {size / _MEGABYTE:6.1f} MB  {part}" for part, size in heaviest]
    left = weights.total() - sum(size for _, size in heaviest)
    if left:
        lines.append(f"  {left / _MEGABYTE:6.1f} MB  {len(weights) - len(heaviest)} others")
    return "\n".join(lines)
