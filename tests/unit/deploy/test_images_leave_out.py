"""What of the standard library and of packages stays behind."""

from pathlib import PurePosixPath

import pytest

from deploy.images import leave_out


@pytest.mark.parametrize(
    "path",
    [
        "EXTERNALLY-MANAGED",
        "__pycache__/os.cpython-311.pyc",
        "asyncio/__pycache__/tasks.cpython-311.pyc",
        "config-3.11-x86_64-linux-gnu/libpython3.11.a",
        "distutils/core.py",
        "ensurepip/__init__.py",
        "idlelib/idle.py",
        "lib-dynload/_sqlite3.cpython-311-x86_64-linux-gnu.so",
        "lib-dynload/_testcapi.cpython-311-x86_64-linux-gnu.so",
        "lib-dynload/_tkinter.cpython-311-x86_64-linux-gnu.so",
        "lib-dynload/readline.cpython-311-x86_64-linux-gnu.so",
        "lib2to3/main.py",
        "site-packages/pip/__init__.py",
        "test/test_os.py",
        "tkinter/__init__.py",
        "unittest/test/test_case.py",
        "venv/__init__.py",
        "venv/scripts/nt/python.exe",
    ],
)
def test_parts_of_the_standard_library_that_are_omitted(path: str) -> None:
    assert leave_out.of_stdlib(PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        "asyncio/tasks.py",
        "contextlib.py",
        "encodings/idna.py",
        "lib-dynload/_asyncio.cpython-311-x86_64-linux-gnu.so",
        "lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so",
        "lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so",
        "site.py",
        "unittest/mock.py",
    ],
)
def test_parts_of_the_standard_library_that_are_included(path: str) -> None:
    assert not leave_out.of_stdlib(PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        "aiohttp/_http_parser.pyx",
        "bin/uvicorn",
        "fastapi-0.165.0.dist-info/INSTALLER",
        "fastapi-0.165.0.dist-info/RECORD",
        "multidict/__init__.pyi",
        "prometheus_client/tests/test_core.py",
        "yarl/__pycache__/_url.cpython-311.pyc",
    ],
)
def test_parts_of_packages_that_are_omitted(path: str) -> None:
    assert leave_out.of_packages(PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        "_cffi_backend.cpython-311-x86_64-linux-gnu.so",
        "aiohttp/client.py",
        "fastapi-0.165.0.dist-info/METADATA",
        "fastapi-0.165.0.dist-info/licenses/LICENSE",
        "opentelemetry_api-1.45.2.dist-info/entry_points.txt",
        "typing_extensions.py",
    ],
)
def test_parts_of_packages_that_are_included(path: str) -> None:
    """Licences and metadata too: scanners and lawyers read them, and importlib.metadata."""
    assert not leave_out.of_packages(PurePosixPath(path))
