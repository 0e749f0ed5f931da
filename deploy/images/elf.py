"""Which shared libraries a program or library needs: its loader is asked, which knows best.

The loader's own path stands in the program (PT_INTERP). `LOADER --list FILE` then applies every
rule there is: RPATH, RUNPATH, $ORIGIN, the cache, the default folders.
"""

import re
import struct
import subprocess
from pathlib import Path

_MAGIC = b"\x7fELF"
_64_BIT = 2
_LITTLE_ENDIAN = 1
_PT_INTERP = 3
_FOUND = re.compile(r"^\s*(\S+) => (/\S+) \(0x", re.MULTILINE)
_MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


class LibraryMissing(Exception):
    """A file needs a library that the base image does not have."""


def is_elf(path: Path) -> bool:
    """Whether the file is a program or a library for the machine."""
    with path.open("rb") as stream:
        return stream.read(4) == _MAGIC


def loader_of(program: Path) -> Path | None:
    """The loader that a program names; None for libraries and for static programs."""
    content = program.read_bytes()
    if content[:4] != _MAGIC:
        raise ValueError(f"{program} is no ELF file")
    order = "<" if content[5] == _LITTLE_ENDIAN else ">"
    if content[4] == _64_BIT:
        (table,) = struct.unpack_from(f"{order}Q", content, 32)
        size, count = struct.unpack_from(f"{order}HH", content, 54)
        offset_at, length_at, word = 8, 32, "Q"
    else:
        (table,) = struct.unpack_from(f"{order}I", content, 28)
        size, count = struct.unpack_from(f"{order}HH", content, 42)
        offset_at, length_at, word = 4, 16, "I"
    for entry in range(table, table + size * count, size):
        if struct.unpack_from(f"{order}I", content, entry) == (_PT_INTERP,):
            (begin,) = struct.unpack_from(order + word, content, entry + offset_at)
            (length,) = struct.unpack_from(order + word, content, entry + length_at)
            return Path(content[begin : begin + length].rstrip(b"\0").decode())
    return None


def parse_listing(listing: str, path: Path) -> dict[str, Path]:
    """The loader's answer about the file: name that is asked for → where it is.

    Raises LibraryMissing.
    """
    missing = _MISSING.findall(listing)
    if missing:
        raise LibraryMissing(f"{path} needs {', '.join(missing)}, which the base image lacks")
    return {name: Path(where) for name, where in _FOUND.findall(listing)}


def libraries_of(path: Path, loader: Path) -> dict[str, Path]:
    """What the file needs, directly and indirectly: name → where it is. Raises LibraryMissing."""
    asked = subprocess.run(
        [str(loader), "--list", str(path)], capture_output=True, text=True, check=False
    )
    if "statically linked" in asked.stdout + asked.stderr:
        return {}
    if asked.returncode != 0 and "not found" not in asked.stdout:
        raise LibraryMissing(f"{path} cannot be examined: {asked.stderr.strip()}")
    return parse_listing(asked.stdout, path)
