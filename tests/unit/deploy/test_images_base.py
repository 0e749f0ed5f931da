"""What is said of a base image that will not do, before anything else fails."""

import ast
import sys
from pathlib import Path

import pytest

from deploy.images import check_base


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 14), (4, 0)])
def test_python_on_glibc_will_do(version: tuple[int, int]) -> None:
    assert check_base.problem(version, "x86_64-pc-linux-gnu cpython-311-x86_64-linux-gnu") is None


@pytest.mark.parametrize("version", [(2, 7), (3, 6), (3, 9), (3, 10)])
def test_an_old_python_will_not(version: tuple[int, int]) -> None:
    said = check_base.problem(version, "x86_64-pc-linux-gnu")
    assert said == f"its Python is {version[0]}.{version[1]}, and 3.11 or newer is needed"


def test_musl_will_not() -> None:
    assert check_base.problem((3, 13), "x86_64-alpine-linux-musl") == (
        "it is built on musl (x86_64-alpine-linux-musl, as Alpine is), and the locked wheels are"
        " for glibc"
    )


def test_any_python_can_read_it() -> None:
    """No annotation, f-string or assignment expression; 3.4 is as far back as `ast` looks."""
    source = Path(check_base.__file__).read_text()
    parsed = ast.parse(source, feature_version=(3, 4))
    assert not any(isinstance(node, ast.JoinedStr | ast.AnnAssign) for node in ast.walk(parsed))


def test_the_exit_code_and_the_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_base.main() == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert check_base.main() == 1
    assert capsys.readouterr().err == (
        "error: BASE_IMAGE cannot be used: its Python is 3.9, and 3.11 or newer is needed."
        " python:3.11-slim can.\n"
    )
