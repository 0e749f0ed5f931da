"""Adds our own sources to the image, and proves that the image runs."""

import os
import subprocess
from pathlib import Path

from deploy.images import tree
from deploy.images.runtime import PYTHON, USER

PLACE = Path("app")
PYTHON_PATH = "/app:/packages"


def collect(sources: Path, root: Path) -> None:
    """Fills the folder `root` with the sources and the files beside them (the licence)."""
    tree.put_tree(sources, root / PLACE, lambda path: "__pycache__" in path.parts)
    tree.compile_all(root / PLACE, root)
    tree.settle(root)


def prove(roots: list[Path], binary: str, together: Path) -> None:
    """Runs `--help` of the binary as the image's user, with only the image. Exits if it fails.

    `together` is a folder that does not exist yet, on the same disk: the roots are linked there.
    """
    for root in roots:
        _link_tree(root, together)
    proven = subprocess.run(
        [str(PYTHON), "-m", binary, "--help"],
        env={"PYTHONPATH": PYTHON_PATH, "PYTHONSAFEPATH": "1"},
        preexec_fn=lambda: _enter(together),
        check=False,
        stdout=subprocess.DEVNULL,
    )
    if proven.returncode != 0:
        raise SystemExit(
            f"error: {binary} does not run on what was collected from BASE_IMAGE, see above."
        )


def _enter(root: Path) -> None:
    os.chroot(root)
    os.chdir("/")
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)


def _link_tree(source: Path, target: Path) -> None:
    for folder, _, files in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in files:
            os.link(Path(folder, name), there / name, follow_symlinks=False)
