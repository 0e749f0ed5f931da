"""Finds the shared libraries that a program or library needs, by asking its loader.

The program names its loader (PT_INTERP). `LOADER --list FILE` then applies every rule there is:
RPATH, RUNPATH, $ORIGIN, the cache, the default folders.
"""

import re
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
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
    """True if the file is a program or a library for the machine."""
    with path.open("rb") as stream:
        return stream.read(4) == _MAGIC


@dataclass(frozen=True, slots=True)
class _Segment:
    """One entry of the table of loaded parts: its kind, and its place in the file."""

    kind: int
    begin: int
    end: int


def loader_of(program: Path) -> Path | None:
    """Returns the loader that a program names; None for libraries and for static programs.

    Raises ValueError if it is no ELF file.
    """
    content = program.read_bytes()
    if content[:4] != _MAGIC:
        raise ValueError(f"{program} is no ELF file")
    for segment in _segments(content):
        if segment.kind == _PT_INTERP:
            return Path(content[segment.begin : segment.end].rstrip(b"\0").decode())
    return None


def without_debugging(content: bytes) -> bytes:
    """Removes what only a debugger reads: all bytes behind the loaded parts.

    A base image has no `strip` of binutils; half of some wheels is debugging data.
    """
    order, is_64_bit = _form(content)
    table, size, count = _table(content)
    end = max(table + size * count, *(segment.end for segment in _segments(content)))
    kept = bytearray(content[:end])
    # No table of sections is left: its place, its number of entries and its entry of names.
    struct.pack_into(f"{order}{'Q' if is_64_bit else 'I'}", kept, 40 if is_64_bit else 32, 0)
    struct.pack_into(f"{order}HH", kept, 60 if is_64_bit else 48, 0, 0)
    return bytes(kept)


def _form(content: bytes) -> tuple[str, bool]:
    """Returns the byte order, in `struct`'s notation, and True for 64 bits."""
    return "<" if content[5] == _LITTLE_ENDIAN else ">", content[4] == _64_BIT


def _table(content: bytes) -> tuple[int, int, int]:
    """Returns the place of the table of segments, an entry's bytes, and the number of entries."""
    order, is_64_bit = _form(content)
    (begin,) = struct.unpack_from(
        order + ("Q" if is_64_bit else "I"), content, 32 if is_64_bit else 28
    )
    size, count = struct.unpack_from(f"{order}HH", content, 54 if is_64_bit else 42)
    return begin, size, count


def _segments(content: bytes) -> Iterator[_Segment]:
    order, is_64_bit = _form(content)
    table, size, count = _table(content)
    for entry in range(table, table + size * count, size):
        (kind,) = struct.unpack_from(f"{order}I", content, entry)
        if is_64_bit:
            begin, _, _, length = struct.unpack_from(f"{order}4Q", content, entry + 8)
        else:
            begin, _, _, length = struct.unpack_from(f"{order}4I", content, entry + 4)
        yield _Segment(kind, begin, begin + length)


def parse_listing(listing: str, path: Path) -> dict[str, Path]:
    """Parses the loader's answer about the file: requested name → path.

    Raises LibraryMissing.
    """
    missing = _MISSING.findall(listing)
    if missing:
        raise LibraryMissing(f"{path} needs {', '.join(missing)}, which the base image lacks")
    return {name: Path(where) for name, where in _FOUND.findall(listing)}


def libraries_of(path: Path, loader: Path) -> dict[str, Path]:
    """Returns the file's direct and indirect libraries: name → path. Raises LibraryMissing."""
    asked = subprocess.run(
        [str(loader), "--list", str(path)], capture_output=True, text=True, check=False
    )
    if "statically linked" in asked.stdout + asked.stderr:
        return {}
    if asked.returncode != 0 and "not found" not in asked.stdout:
        raise LibraryMissing(f"{path} cannot be examined: {asked.stderr.strip()}")
    return parse_listing(asked.stdout, path)
