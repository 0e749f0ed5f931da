"""Writes the configurations that the command ships."""

from pathlib import Path

from cli.shipped.data import FOLDER, OVERLAYS


def shipped_files(overlays: Path) -> dict[Path, str]:
    """Return the content of each file."""
    return {
        FOLDER / f"{name}.yaml": (overlays / name / "config.yaml").read_text() for name in OVERLAYS
    }
