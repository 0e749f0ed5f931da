"""A script stands for py-spy: the right to read other processes differs between machines."""

import os
import sys
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.profile.sampling import python_samples
from bench.profile.stacks import StackSample

SAMPLES = """\
import os, pathlib, signal, sys
folder = pathlib.Path(__file__).parent
folder.joinpath("pid").write_text(str(os.getpid()))
def end(*_):
    folder.joinpath("samples").write_text("main (a.py:1);f (b.py:2) 3\\n")
    sys.exit(0)
signal.signal(signal.SIGINT, end)
print("py-spy> Sampling process 100 times a second", flush=True)
signal.pause()
"""
REFUSES = 'print("Permission Denied")'


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return tmp_path / "py-spy"


def write(program: Path, script: str) -> None:
    program.write_text(f"#!{sys.prefix}/bin/python\n{script}")
    program.chmod(0o755)


async def test_samples_are_read_at_the_end(install: Path) -> None:
    write(install, SAMPLES)
    async with python_samples(1, install.with_name("samples")) as found:
        assert not found
    assert found == [StackSample(["f (b.py:2)", "main (a.py:1)"], 3.0)]


async def test_an_interrupted_profile_leaves_no_sampler(install: Path) -> None:
    write(install, SAMPLES)
    with pytest.raises(KeyError):
        async with python_samples(1, install.with_name("samples")):
            raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(int(install.with_name("pid").read_text()), 0)


async def test_a_refusal_names_the_process_and_the_remedy(install: Path) -> None:
    write(install, REFUSES)
    with pytest.raises(BenchError, match=r"process 7 .*ptrace_scope is 0\): Permission Denied$"):
        async with python_samples(7, install.with_name("samples")):
            pass


async def test_a_missing_sampler(install: Path) -> None:
    with pytest.raises(BenchError, match=r"py-spy is missing: install requirements-dev\.lock\.$"):
        async with python_samples(1, install.with_name("samples")):
            pass
