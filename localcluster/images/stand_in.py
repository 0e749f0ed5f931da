"""Builds images of Debian's packages from this machine's apt archive, if none can be pulled.

`python()` replaces `python:3.11-slim` (ARG BASE_IMAGE), and wrapped pods run in it in tests.
`torch()` also has PyTorch, for the CPU: the package index's would bring gigabytes of CUDA.
"""

import asyncio
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localcluster.images import sandbox
from localcluster.images.buildah import Buildah
from localcluster.machine.child import captured
from localcluster.machine.errors import BuildFailed, ToolMissing

NAME = "localhost/appwrapper-e2e-workload:1"
TORCH_NAME = "localhost/appwrapper-e2e-torch:1"
TORCH_PACKAGE = "python3-torch"
_PACKAGES = ("ca-certificates", "python3", "python3-pip")
# Documents for people, and apt's own caches: half of the whole.
_NOT_NEEDED = (
    "usr/share/doc",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
)
# A fifth of PyTorch: its tests, and modules that neither torchrun nor a backward pass imports.
_NOT_NEEDED_BY_TORCH = (
    "usr/lib/libtorch-test",
    "usr/lib/python3/dist-packages/sympy",
    "usr/share/proj",
)
# Seconds before each further try: most failures are of the network.
_PAUSES = (5.0, 30.0)
# Debian's cloud images name a file with a mirror per line; the first is the nearest.
_MIRRORS = "mirror+file:"
_DOCKERFILE = """\
FROM scratch
ADD root.tar /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["/bin/sh"]
"""


@dataclass(frozen=True, slots=True)
class StandIn:
    """The content of a future image.

    `kind` names its archives in the cache; `megabytes` is the disk space for making it. `archive`
    is the distribution's.
    """

    name: str
    kind: str
    packages: tuple[str, ...]
    not_needed: tuple[str, ...]
    megabytes: int
    release: str
    archive: str

    @property
    def key(self) -> str:
        """Changes whenever the result should."""
        what = (self.archive, self.release, platform.machine(), self.packages, self.not_needed)
        return hashlib.sha256(f"{what}{_DOCKERFILE}".encode()).hexdigest()[:16]

    async def make(self, folder: Path, log: Path, buildah: Buildah) -> None:
        """Makes the image in the storage of `buildah`; works in the folder.

        Raises BuildFailed, DiskFull.
        """
        root = folder / "root"
        context = folder / "context"
        context.mkdir()
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(self.packages)}"]
        command += ["--force-check-gpg", self.release, str(root), self.archive]
        await self._fetch(command, root, log)
        for name in self.not_needed:
            shutil.rmtree(root / name, ignore_errors=True)
            (root / name).mkdir(parents=True)
        await sandbox.run(
            "pack the base image",
            ["tar", "-C", str(root), "--exclude=./dev/*", "-cf", str(context / "root.tar"), "."],
            log,
        )
        shutil.rmtree(root)
        (context / "Dockerfile").write_text(_DOCKERFILE)
        await buildah.build(self.name, context / "Dockerfile", context, arguments={})
        shutil.rmtree(context)

    async def _fetch(self, command: Sequence[str], root: Path, log: Path) -> None:
        """Runs debootstrap, and again if a package did not arrive."""
        for pause in (*_PAUSES, None):
            try:
                await sandbox.run(
                    f"debootstrap {self.release}", command, log, environment=await _proxy()
                )
            except BuildFailed:
                if pause is None:
                    raise
                shutil.rmtree(root, ignore_errors=True)
                await asyncio.sleep(pause)
            else:
                return


def python() -> StandIn:
    """Returns Debian's Python, with pip. Raises ToolMissing if apt's sources name no archive."""
    release = _codename()
    return StandIn(NAME, "workload", _PACKAGES, _NOT_NEEDED, 1_500, release, archive_of(release))


def torch() -> StandIn:
    """Returns the same with PyTorch and torchrun, 1 GB. Raises ToolMissing."""
    return replace(
        python(),
        name=TORCH_NAME,
        kind="torch",
        packages=(*_PACKAGES, TORCH_PACKAGE),
        not_needed=(*_NOT_NEEDED, *_NOT_NEEDED_BY_TORCH),
        megabytes=5_000,
    )


def archive_of(release: str) -> str:
    """Return the address of the release's archive in apt's sources. Raise ToolMissing."""
    wanted = ("Created-By: Packages", f"Release: {release}", "Component: main")
    command = ("apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted)
    try:
        found = subprocess.run(command, check=False, capture_output=True, text=True).stdout.split()
    except FileNotFoundError:
        found = []
    if not found:
        raise ToolMissing(
            f"No source of apt has the release {release or '(of no name)'} with its component main."
            " A base image's stand-in is made from it; name an image instead (--base-image)."
        )
    if not found[0].startswith(_MIRRORS):
        return found[0].rstrip("/")
    path = Path("/" + found[0].removeprefix(_MIRRORS).strip("/"))
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    mirrors = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    if not mirrors:
        raise ToolMissing(f"apt's source {found[0]} names no mirror: {path} is absent or empty.")
    return mirrors[0]


def _codename() -> str:
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError as failure:
        raise ToolMissing(
            f"{sys.platform} does not name its distribution ({failure}), so no base image"
            " can be made from its packages. Name an image instead (--base-image)."
        ) from failure


async def _proxy() -> dict[str, str]:
    """Returns apt's proxy: debootstrap fetches with wget, which ignores apt's settings."""
    try:
        _, answer = await captured(("apt-config", "shell", "PROXY", "Acquire::http::Proxy"))
    except FileNotFoundError:
        return {}
    value = answer.strip().removeprefix("PROXY=").strip("'")
    return {"http_proxy": value} if value and "http_proxy" not in os.environ else {}
