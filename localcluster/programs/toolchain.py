"""Finds the Go toolchain, which builds every component, and the user's kubectl."""

import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import orjson

from localcluster.machine.child import captured
from localcluster.machine.errors import ToolMissing

GO_MINIMUM = (1, 26)
KUBECTL_MINIMUM = (1, 28)
_INSTALL = "Install Go {}.{} or newer (https://go.dev/doc/install) and put its `go` on the PATH."


@dataclass(frozen=True, slots=True)
class Go:
    """A usable toolchain. The two folders are Go's own caches, which hold most of its files.

    `version` is Go's text: `go1.26.8`.
    """

    path: Path
    version: str
    build_cache: Path
    module_cache: Path


def require_linux() -> None:
    """Raises ToolMissing on other systems: only Linux ends children with their parent (prctl)."""
    if platform.system() != "Linux":
        raise ToolMissing(
            f"A local cluster needs Linux, and this is {platform.system()}. Use a virtual machine."
        )


async def find_go() -> Go:
    """Returns the `go` on the PATH. Raises ToolMissing if it is missing or too old."""
    install = _INSTALL.format(*GO_MINIMUM)
    found = shutil.which("go")
    if found is None:
        raise ToolMissing(
            f"There is no Go toolchain on the PATH, and it builds the components. {install}"
        )
    names = ("GOVERSION", "GOCACHE", "GOMODCACHE")
    output = await _output_of(found, "env", "-json", *names, problem=f"{found} does not run")
    values = orjson.loads(output)
    version = parse_version(values["GOVERSION"])
    if version < GO_MINIMUM:
        raise ToolMissing(f"{found} is {values['GOVERSION']}, which is too old. {install}")
    return Go(Path(found), values["GOVERSION"], Path(values["GOCACHE"]), Path(values["GOMODCACHE"]))


async def find_kubectl() -> Path | None:
    """Returns the `kubectl` on the PATH; None if it is missing or too old for this cluster."""
    found = shutil.which("kubectl")
    if found is None:
        return None
    try:
        output = await _output_of(
            found, "version", "--client", "-o", "json", problem=f"{found} does not run"
        )
        version = parse_version(orjson.loads(output)["clientVersion"]["gitVersion"])
    except (ToolMissing, ValueError, KeyError):
        return None
    return Path(found) if version >= KUBECTL_MINIMUM else None


def parse_version(text: str) -> tuple[int, int]:
    """Returns major and minor of `go1.26.8`, `v1.32.4-x`, `go1.27rc1`; (0, 0) if there is none.

    A development version (`devel go1.27-abc`) counts as its future release.
    """
    match = re.search(r"(?:go|v)(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


async def _output_of(*command: str, problem: str) -> str:
    try:
        code, output = await captured(command)
    except OSError as failure:
        raise ToolMissing(f"{problem}: {failure}.") from failure
    if code != 0:
        raise ToolMissing(f"{problem} (exit code {code}): {output.strip()}")
    return output
