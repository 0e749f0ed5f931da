"""Any layout of Python will do as a base: here the one that runs the tests, wherever it lies.

The official images have it below /usr/local with a shared libpython, Debian below /usr without.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from localcluster.images import recipe

pytestmark = pytest.mark.long

PYTHON = Path(os.path.realpath(sys.executable))
COLLECT = """
import sys
from pathlib import Path
from deploy.images import runtime
runtime.collect(Path(sys.argv[1]))
"""
SHOW = """
import asyncio, bz2, ctypes, lzma, os, ssl, sys, uuid, zlib
print(sys.version)
print(sys.prefix)
print(os.path.realpath(sys.executable))
print(os.path.dirname(os.__file__))
print(os.getuid())
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What would become of this machine's Python."""
    folder = tmp_path_factory.mktemp("layout") / "root"
    # The interpreter itself: a virtual environment is none.
    subprocess.run(
        [str(PYTHON), "-c", COLLECT, str(folder)],
        cwd=recipe.ROOT,
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"},
        check=True,
    )
    return folder


def inside(root: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Runs it with nothing but the collected files, as the image's user."""
    return subprocess.run(
        ["chroot", "--userspec=65532:65532", str(root), "/usr/bin/python3", "-c", program],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        check=False,
        capture_output=True,
        text=True,
    )


def test_it_runs_from_where_it_was(root: Path) -> None:
    ran = inside(root, SHOW)
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        *sys.version.splitlines(),
        sys.base_prefix,
        str(PYTHON),
        sysconfig.get_path("stdlib"),
        "65532",
    ]


def test_a_module_that_was_left_out_is_not_there(root: Path) -> None:
    for name in ("ensurepip", "idlelib", "sqlite3", "tkinter", "venv"):
        assert f"No module named '{name}'" in inside(root, f"import {name}").stderr


def test_its_shared_libraries_lie_where_the_loader_looks(root: Path) -> None:
    """All in one folder, that of the C library; the interpreter's own among them."""
    found = [path.parent for path in root.rglob("*.so*") if "lib-dynload" not in path.parts]
    folders = {path for path in found if not (path / "os.py").exists()}
    (loader,) = root.rglob("ld-*.so*")
    (c_library,) = root.rglob("libc.so.6")
    assert folders <= {c_library.parent, loader.parent}
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        name = sysconfig.get_config_var("INSTSONAME")
        assert (c_library.parent / name).is_file()
