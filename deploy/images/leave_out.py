"""Selects the files of the standard library and of packages that an image omits."""

from fnmatch import fnmatch
from pathlib import PurePath

# For people and for building: no process in a pod needs them.
_STDLIB_NAMES = frozenset(
    {
        "EXTERNALLY-MANAGED",
        "LICENSE.txt",
        "_pyrepl",
        "curses",
        "dbm",
        "dist-packages",
        "distutils",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "msilib",
        "pydoc_data",
        "site-packages",
        "sitecustomize.py",
        "sqlite3",
        "test",
        "tkinter",
        "turtle.py",
        "turtledemo",
        "venv",
    }
)
_STDLIB_PATTERNS = ("config-*",)
# Extension modules of those, and of the interpreter's own tests.
_EXTENSIONS = (
    "_ctypes_test.*",
    "_curses*.so",
    "_dbm.*",
    "_gdbm.*",
    "_interp*.so",
    "_sqlite3.*",
    "_test*.so",
    "_tkinter.*",
    "_xx*.so",
    "nis.*",
    "ossaudiodev.*",
    "readline.*",
    "xxlimited*.so",
)
# Files for compilers and type checkers, and lists of files that are no longer complete.
_PACKAGE_FILES = (
    "*.c",
    "*.cpp",
    "*.h",
    "*.pxd",
    "*.pyi",
    "*.pyx",
    "*.whl",
    "INSTALLER",
    "RECORD",
    "REQUESTED",
)
_TESTS = frozenset({"test", "tests"})
_CACHE = "__pycache__"


def of_stdlib(path: PurePath) -> bool:
    """True if the image omits the file, relative to the standard library's folder."""
    first = path.parts[0]
    return (
        first in _STDLIB_NAMES
        or any(fnmatch(first, pattern) for pattern in _STDLIB_PATTERNS)
        or not {_CACHE, *_TESTS}.isdisjoint(path.parts)
        or any(fnmatch(path.name, pattern) for pattern in _EXTENSIONS)
        or path.suffix in (".exe", ".a")
    )


def of_packages(path: PurePath) -> bool:
    """True if the image omits the file, relative to the folder that pip filled."""
    return (
        path.parts[0] == "bin"
        or not {_CACHE, *_TESTS}.isdisjoint(path.parts[1:-1])
        or any(fnmatch(path.name, pattern) for pattern in _PACKAGE_FILES)
    )
