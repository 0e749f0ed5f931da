from pathlib import Path

import pytest

from localcluster.machine.errors import ToolMissing
from localcluster.programs.toolchain import Go, find_go, find_kubectl, parse_version

INSTALL = "Install Go 1.26 or newer (https://go.dev/doc/install) and put its `go` on the PATH."


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("go1.26.8", (1, 26), id="release"),
        pytest.param("go1.27rc1", (1, 27), id="release candidate"),
        pytest.param("devel go1.27-abc123", (1, 27), id="development version"),
        pytest.param("go2.0", (2, 0), id="next major version"),
        pytest.param("v1.32.4-dispatcher", (1, 32), id="kubectl with a suffix"),
        pytest.param("unknown", (0, 0), id="no version at all"),
    ],
)
def test_parse_version(text: str, version: tuple[int, int]) -> None:
    assert parse_version(text) == version


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def go_of_version(folder: Path, version: str) -> Path:
    answer = f'{{"GOVERSION":"{version}","GOCACHE":"/cache","GOMODCACHE":"/modules"}}'
    return program(folder, "go", f"echo '{answer}'")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


async def test_go_that_is_new_enough(path: Path) -> None:
    expected = Go(go_of_version(path, "go1.26.0"), "go1.26.0", Path("/cache"), Path("/modules"))
    assert await find_go() == expected


async def test_go_that_is_too_old(path: Path) -> None:
    found = go_of_version(path, "go1.25.99")
    with pytest.raises(ToolMissing) as caught:
        await find_go()
    assert str(caught.value) == f"{found} is go1.25.99, which is too old. {INSTALL}"


async def test_no_go(path: Path) -> None:
    with pytest.raises(ToolMissing) as caught:
        await find_go()
    assert str(caught.value) == (
        f"There is no Go toolchain on the PATH, and it builds the components. {INSTALL}"
    )


async def test_go_that_fails(path: Path) -> None:
    found = program(path, "go", "echo 'cannot find GOROOT' >&2; exit 2")
    with pytest.raises(ToolMissing) as caught:
        await find_go()
    assert str(caught.value) == f"{found} does not run (exit code 2): cannot find GOROOT"


async def test_go_of_another_architecture(path: Path) -> None:
    found = path / "go"
    found.write_bytes(b"\x7fELF\0\0")
    found.chmod(0o755)
    with pytest.raises(ToolMissing) as caught:
        await find_go()
    assert str(caught.value).startswith(f"{found} does not run: [Errno 8] Exec format error")


@pytest.mark.parametrize(
    ("script", "usable"),
    [
        pytest.param(
            'echo \'{"clientVersion":{"gitVersion":"v1.28.0"}}\'', True, id="just new enough"
        ),
        pytest.param('echo \'{"clientVersion":{"gitVersion":"v1.27.9"}}\'', False, id="too old"),
        pytest.param("exit 1", False, id="broken"),
        pytest.param("echo nonsense", False, id="something else of that name"),
    ],
)
async def test_kubectl(path: Path, script: str, usable: bool) -> None:
    found = program(path, "kubectl", script)
    assert await find_kubectl() == (found if usable else None)


async def test_no_kubectl(path: Path) -> None:
    assert await find_kubectl() is None
