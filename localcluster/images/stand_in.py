"""A base image where none can be pulled: Debian's own Python, from this machine's apt archive.

It stands in for `python:3.11-slim` (ARG BASE_IMAGE), and wrapped pods run in it in tests.
"""

import hashlib
import os
import platform
import shutil
import sys
from pathlib import Path

from localcluster.images import sandbox
from localcluster.images.apt_sources import Archive, archive_of
from localcluster.images.buildah import Buildah
from localcluster.machine.child import captured
from localcluster.machine.errors import ToolMissing

NAME = "localhost/appwrapper-e2e-workload:1"
_PACKAGES = ("ca-certificates", "python3", "python3-pip")
# For people, and what apt keeps for later. Half of it all.
_NOT_NEEDED = (
    "usr/share/doc",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
)
_DOCKERFILE = """\
FROM scratch
ADD root.tar /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["/bin/sh"]
"""


class StandIn:
    """What it will be made of. Raises ToolMissing where apt's sources do not say."""

    def __init__(self) -> None:
        self._release = _codename()
        self._archive: Archive = archive_of(self._release)

    @property
    def key(self) -> str:
        """Changes whenever the result should."""
        what = (self._archive, self._release, platform.machine(), _PACKAGES, _NOT_NEEDED)
        return hashlib.sha256(f"{what}{_DOCKERFILE}".encode()).hexdigest()[:16]

    async def make(self, folder: Path, log: Path, buildah: Buildah) -> None:
        """Makes the image NAME in the storage of `buildah`; works in the folder.

        Raises BuildFailed, DiskFull.
        """
        root = folder / "root"
        context = folder / "context"
        context.mkdir()
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}"]
        command += [f"--keyring={self._archive.keyring}", self._release, str(root)]
        command += [self._archive.uri]
        await sandbox.run(f"debootstrap {self._release}", command, log, environment=await _proxy())
        for name in _NOT_NEEDED:
            shutil.rmtree(root / name, ignore_errors=True)
            (root / name).mkdir(parents=True)
        await sandbox.run(
            "pack the base image",
            ["tar", "-C", str(root), "--exclude=./dev/*", "-cf", str(context / "root.tar"), "."],
            log,
        )
        shutil.rmtree(root)
        (context / "Dockerfile").write_text(_DOCKERFILE)
        await buildah.build(NAME, context / "Dockerfile", context, arguments={})
        shutil.rmtree(context)


def _codename() -> str:
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError as failure:
        raise ToolMissing(
            f"{sys.platform} does not say which distribution it is ({failure}), so no base image"
            " can be made from its packages. Name an image instead (--base-image)."
        ) from failure


async def _proxy() -> dict[str, str]:
    """debootstrap fetches with wget, which does not know apt's proxy."""
    try:
        _, said = await captured(("apt-config", "shell", "PROXY", "Acquire::http::Proxy"))
    except FileNotFoundError:
        return {}
    value = said.strip().removeprefix("PROXY=").strip("'")
    return {"http_proxy": value} if value and "http_proxy" not in os.environ else {}
