"""Collects the interpreter for an image: program, standard library, shared libraries, loader, user.

The running interpreter reports the paths, so any layout will do: /usr/local of the official images,
/usr of Debian, or another.
"""

import ctypes
import os
import re
import sys
import sysconfig
from pathlib import Path

from deploy.images import elf, leave_out, tree

# A fixed name for ENTRYPOINT, whatever the base image calls it.
PYTHON = Path("/usr/bin/python3")
USER = 65532
# Loaded by name at run time: no file declares them. Without the first, the end of a thread aborts
# the process; the others, if they are not empty, resolve names.
_UNWINDER = "libgcc_s.so.1"
_BY_NAME = ("libresolv.so.2", "libnss_dns.so.2", "libnss_files.so.2")
_FILES = {
    "etc/passwd": (
        "root:x:0:0:root:/:/nonexistent\n"
        f"nonroot:x:{USER}:{USER}:nonroot:/nonexistent:/nonexistent\n"
    ),
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


class Libraries:
    """Copies shared libraries into the folder that the loader searches by default."""

    def __init__(self) -> None:
        loader = elf.loader_of(Path(os.path.realpath(sys.executable)))
        if loader is None:
            raise SystemExit("error: BASE_IMAGE cannot be used: its Python is linked statically")
        self.loader = loader
        # glibc searches the folder of its installation, however the distribution names it.
        self._folder = _loaded("libc.so.6").parent

    def put(self, libraries: dict[str, Path], root: Path, *, but_not_in: Path) -> None:
        """Copies the libraries, without those below the folder `but_not_in`."""
        for name, path in sorted(libraries.items()):
            if "/" not in name and not path.is_relative_to(but_not_in):
                tree.put(path, _below(root, self._folder) / name)

    def needed_below(self, folder: Path) -> dict[str, Path]:
        """Returns the libraries that the folder's ELF files need. Raises LibraryMissing."""
        found: dict[str, Path] = {}
        for path in sorted(folder.rglob("*.so*")):
            if elf.is_elf(path):
                found |= elf.libraries_of(path, self.loader)
        return found


def collect(root: Path) -> None:
    """Fills the folder `root` with the running interpreter. Raises LibraryMissing."""
    interpreter = Path(os.path.realpath(sys.executable))
    libraries = Libraries()
    tree.put(libraries.loader, _below(root, libraries.loader), program=True)
    tree.put(interpreter, _below(root, interpreter), program=True)
    if interpreter != PYTHON:
        _below(root, PYTHON).parent.mkdir(parents=True, exist_ok=True)
        _below(root, PYTHON).symlink_to(interpreter)
    stdlib = Path(sysconfig.get_path("stdlib"))
    for source in sorted({stdlib, Path(sysconfig.get_path("platstdlib"))}):
        tree.put_tree(source, _below(root, source), leave_out.of_stdlib)
    needed = elf.libraries_of(interpreter, libraries.loader)
    needed |= libraries.needed_below(_below(root, stdlib))
    needed |= {_UNWINDER: _loaded(_UNWINDER)}
    needed |= {name: _loaded(name) for name in _BY_NAME if _is_there(name)}
    libraries.put(needed, root, but_not_in=root)
    for name, content in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o644)
    tree.compile_all(_below(root, stdlib), root)
    tree.settle(root)


def _below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _is_there(name: str) -> bool:
    try:
        _loaded(name)
    except OSError:
        return False
    return True


def _loaded(name: str) -> Path:
    """Returns the library's path in the process's map, after loading it."""
    ctypes.CDLL(name)
    maps = Path("/proc/self/maps").read_text()
    found = re.search(rf"\s(/\S*/{re.escape(name)})$", maps, re.MULTILINE)
    if found:
        return Path(found[1])
    # The map names the file itself, and the library's name was a link to it.
    stem = re.escape(name.partition(".so")[0])
    found = re.search(rf"\s(/\S*/{stem}[-.]\S*)$", maps, re.MULTILINE)
    if not found:
        raise OSError(f"{name} was loaded, and /proc/self/maps does not say from where")
    return Path(found[1])
