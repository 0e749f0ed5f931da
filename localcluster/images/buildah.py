"""Runs buildah with its own storage, which is removed whole: the user's containers stay untouched.

chroot isolation and the vfs driver work in any container and on any file system.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster.images import sandbox

# 1980: the time of every file and of the image itself, so that equal content is equal bytes.
EPOCH = 315_532_800


@dataclass(frozen=True, slots=True)
class Secret:
    """A file that the build may read, and that no layer keeps."""

    name: str
    file: Path


class Buildah:
    """One storage, in `folder`. Every method raises BuildFailed, DiskFull."""

    def __init__(self, folder: Path, log: Path, pip_cache: Path) -> None:
        self._folder = folder
        self._log = log
        scratch = folder / "scratch"
        (scratch / "buildah-cache").mkdir(parents=True)
        # buildah keeps a cache mount in the folder for temporary files, by the mount's target.
        pip_cache.mkdir(parents=True, exist_ok=True)
        (scratch / "buildah-cache" / "pip-cache").symlink_to(pip_cache)
        self._environment = {
            "STORAGE_DRIVER": "vfs",
            "BUILDAH_ISOLATION": "chroot",
            "TMPDIR": str(scratch),
        }

    async def build(
        self,
        name: str,
        dockerfile: Path,
        context: Path,
        *,
        arguments: Mapping[str, str],
        secrets: Sequence[Secret] = (),
        pull: str = "never",
    ) -> None:
        """Builds a Dockerfile. `pull` is buildah's policy for base images."""
        command = ["bud", "--timestamp", str(EPOCH), "--identity-label=false", f"--pull={pull}"]
        for key, value in arguments.items():
            command += ["--build-arg", f"{key}={value}"]
        for secret in secrets:
            command += ["--secret", f"id={secret.name},src={secret.file}"]
        command += ["--file", str(dockerfile), "--tag", name, str(context)]
        await self._run(f"build {name}", *command)

    async def save(self, name: str, archive: Path) -> None:
        """Writes the image into a new docker-archive."""
        await self._run(f"save {name}", "push", "--quiet", name, f"docker-archive:{archive}:{name}")

    async def load(self, archive: Path) -> None:
        """Loads the image of a docker-archive into the storage."""
        await self._run(f"load {archive.name}", "pull", "--quiet", f"docker-archive:{archive}")

    async def push(self, name: str, target: str, *, verify_tls: bool) -> None:
        """Pushes the image to a registry. `verify_tls=False` also allows plain HTTP."""
        await self._run(
            f"push {target}", "push", f"--tls-verify={str(verify_tls).lower()}", name,
            f"docker://{target}",
        )  # fmt: skip

    async def _run(self, what: str, *command: str) -> None:
        storage = ["--root", str(self._folder / "storage"), "--runroot", str(self._folder / "run")]
        await sandbox.run(
            what,
            ["buildah", *storage, *command],
            self._log,
            environment=self._environment,
            folder=Path(os.sep),
        )
