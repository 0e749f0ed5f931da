"""Reading programs and libraries: real ones, of this very interpreter."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.images import elf

PYTHON = Path(os.path.realpath(sys.executable))


def extension_module(name: str) -> Path:
    """A package's compiled module, as its wheel holds it."""
    origin = __import__(name).__file__
    assert origin is not None
    (found,) = Path(origin).parent.glob("*.so")
    return found


def test_the_loader_of_a_program() -> None:
    loader = elf.loader_of(PYTHON)
    assert loader is not None
    assert loader.name.startswith("ld-linux")
    assert loader.exists()


def test_a_library_names_no_loader() -> None:
    assert elf.loader_of(extension_module("orjson")) is None


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert not elf.is_elf(script)
    with pytest.raises(ValueError, match=f"{script} is no ELF file"):
        elf.loader_of(script)


def test_the_libraries_of_a_program_are_found() -> None:
    loader = elf.loader_of(PYTHON)
    assert loader is not None
    found = elf.libraries_of(PYTHON, loader)
    assert "libc.so.6" in found
    assert all(path.exists() for path in found.values())


def test_answers_of_the_loader() -> None:
    listing = (
        "\tlinux-vdso.so.1 (0x00007ffd0)\n"
        "\tlibpython3.11.so.1.0 => /usr/local/bin/../lib/libpython3.11.so.1.0 (0x00007f0)\n"
        "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)\n"
    )
    assert elf.parse_listing(listing, Path("/python")) == {
        "libpython3.11.so.1.0": Path("/usr/local/bin/../lib/libpython3.11.so.1.0"),
        "libc.so.6": Path("/lib/x86_64-linux-gnu/libc.so.6"),
    }


def test_a_library_that_is_not_there_is_named() -> None:
    listing = "\tlibgone.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f1)\n"
    with pytest.raises(elf.LibraryMissing) as missing:
        elf.parse_listing(listing, Path("/packages/fast.so"))
    assert str(missing.value) == (
        "/packages/fast.so needs libgone.so.1, which the base image lacks"
    )


def test_a_library_works_without_what_debuggers_read(tmp_path: Path) -> None:
    """The YAML parser's wheel comes with all of it."""
    package = extension_module("yaml").parent
    copy = tmp_path / "yaml"
    shutil.copytree(package, copy)
    (module,) = copy.glob("*.so")
    whole = module.read_bytes()
    module.write_bytes(elf.without_debugging(whole))
    assert module.stat().st_size < len(whole) / 2
    program = (
        "import yaml, yaml._yaml\n"
        f"assert yaml._yaml.__file__ == {str(module)!r}, yaml._yaml.__file__\n"
        "print(yaml.load('a: [1, 2]', Loader=yaml.CSafeLoader))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout == "{'a': [1, 2]}\n"


def test_twice_is_once() -> None:
    once = elf.without_debugging(extension_module("yaml").read_bytes())
    assert elf.without_debugging(once) == once
