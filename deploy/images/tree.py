"""Copies files into an image's folder so that two builds of the same files are the same."""

import compileall
import os
import py_compile
import shutil
from collections.abc import Callable
from pathlib import Path, PurePath

# The time of every file, in seconds since 1970: archives contain times.
EPOCH = 315_532_800  # 1980, the oldest that zip files know
_FILE = 0o644
_PROGRAM = 0o755
_FOLDER = 0o755


def put(source: Path, target: Path, *, program: bool = False) -> None:
    """Copies the target of the path, with a fixed mode: only the owner writes, nothing is
    setuid.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(_PROGRAM if program else _FILE)


def put_tree(source: Path, target: Path, leave_out: Callable[[PurePath], bool]) -> None:
    """Copies the files below a folder, except those for which `leave_out` is True.

    Symbolic links become copies of their targets; broken links are not copied.
    """
    for folder, folders, files in os.walk(source):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            relative = path.relative_to(source)
            if not leave_out(relative) and path.is_file():
                put(path, target / relative)


def compile_all(folder: Path, root: Path) -> None:
    """Compiles the sources below `folder`, which will be at `root`'s place: `/`.

    The results are never checked against their sources: the root is read-only, so neither changes.
    Raises ValueError where one does not compile.
    """
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(
        folder, quiet=1, stripdir=root, prependdir="/", invalidation_mode=unchecked, workers=1
    ):
        raise ValueError(f"not everything in {folder} compiles, see above")


def settle(root: Path) -> None:
    """Sets every file's and folder's mode and time. Call it last."""
    for folder, _, files in os.walk(root, topdown=False):
        for name in files:
            os.utime(Path(folder, name), (EPOCH, EPOCH), follow_symlinks=False)
        Path(folder).chmod(_FOLDER)
        os.utime(folder, (EPOCH, EPOCH))
