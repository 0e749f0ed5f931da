import io
import json
import tarfile
from pathlib import Path

import pytest

from localcluster.images import sizes


def layer(files: dict[str, int]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        folder = tarfile.TarInfo("app")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, size in files.items():
            member = tarfile.TarInfo(name)
            member.size = size
            tar.addfile(member, io.BytesIO(bytes(size)))
    return stream.getvalue()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    layers = {
        "first.tar": layer({"usr/bin/python3.11": 7_000_000, "usr/lib/python3.11/os.py": 100_000}),
        "second.tar": layer({"packages/yaml/loader.py": 200_000, "app/webhook/main.py": 40_000}),
    }
    manifest = json.dumps([{"Layers": list(layers)}]).encode()
    path = tmp_path / "image.tar"
    with tarfile.open(path, "w") as tar:
        for name, content in {**layers, "manifest.json": manifest}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_the_size_is_that_of_the_files_of_all_layers(archive: Path) -> None:
    assert sizes.unpacked_size(archive) == 7_340_000


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("packages/aiohttp/client.py", "package aiohttp"),
        ("packages/aiohttp-3.14.5.dist-info/METADATA", "package aiohttp"),
        ("packages/_cffi_backend.cpython-311-x86_64-linux-gnu.so", "package _cffi_backend"),
        ("packages/typing_extensions.py", "package typing_extensions"),
        ("app/webhook/main.py", "our sources"),
        ("usr/lib/python3.11/asyncio/tasks.py", "the standard library"),
        ("usr/lib/python3.11/lib-dynload/_ssl.cpython-311.so", "the standard library"),
        ("usr/local/bin/python3.11", "the interpreter"),
        ("usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "shared libraries"),
        ("lib64/ld-linux-x86-64.so.2", "shared libraries"),
        ("etc/passwd", "the rest"),
    ],
)
def test_the_part_that_a_file_belongs_to(name: str, part: str) -> None:
    assert sizes.part_of(name) == part


def test_the_report_names_the_heaviest_and_counts_the_others(archive: Path) -> None:
    assert sizes.report("localhost/appwrapper-webhook:1", archive, count=2) == (
        "localhost/appwrapper-webhook:1: 7.3 MB\n"
        "     7.0 MB  the interpreter\n"
        "     0.2 MB  package yaml\n"
        "     0.1 MB  2 others"
    )
    assert "others" not in sizes.report("x", archive)
