"""Builds with docker or podman, into the tool's own storage, where users expect images."""

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from localcluster.images.buildah import Secret
from localcluster.machine.child import captured
from localcluster.machine.errors import BuildFailed, ToolMissing

NAMES = ("docker", "podman")
_SHOWN_LINES = 25


async def works(tool: str) -> bool:
    """True if the tool is installed and its service answers: docker's client alone builds
    nothing.
    """
    if shutil.which(tool) is None:
        return False
    code, _ = await captured((tool, "info"))
    return code == 0


async def require(tool: str) -> None:
    """Raises ToolMissing if the tool does not work."""
    if not await works(tool):
        raise ToolMissing(
            f"`{tool} info` fails: {tool} is not installed, or its service does not run or is not"
            " open to this user. TOOL=buildah builds without a service, as root."
        )


async def build(
    tool: str,
    name: str,
    dockerfile: Path,
    context: Path,
    *,
    arguments: Mapping[str, str],
    secrets: Sequence[Secret],
) -> None:
    """Builds a Dockerfile. Raises BuildFailed."""
    command = [tool, "build"]
    for key, value in arguments.items():
        command += ["--build-arg", f"{key}={value}"]
    for secret in secrets:
        command += ["--secret", f"id={secret.name},src={secret.file}"]
    command += ["--file", str(dockerfile), "--tag", name, str(context)]
    await _run(f"build {name}", *command)


async def tag(tool: str, name: str, target: str) -> None:
    """Gives the image another name. Raises BuildFailed."""
    await _run(f"tag {name}", tool, "tag", name, target)


async def push(tool: str, target: str, *, verify_tls: bool) -> None:
    """Pushes an image to the registry in its name. Raises BuildFailed, ToolMissing.

    For docker, its daemon's configuration decides which registries need no TLS.
    """
    if tool == "docker" and not verify_tls:
        raise ToolMissing(
            "docker has no option for registries without TLS: they are named in its daemon's"
            " configuration (insecure-registries). Leave TLS_VERIFY=0 out, or use TOOL=buildah."
        )
    flags = [] if tool == "docker" else [f"--tls-verify={str(verify_tls).lower()}"]
    await _run(f"push {target}", tool, "push", *flags, target)


async def save(tool: str, name: str, archive: Path) -> None:
    """Writes the image into a new docker-archive. Raises BuildFailed."""
    await asyncio.to_thread(archive.parent.mkdir, parents=True, exist_ok=True)
    await _run(f"save {name}", tool, "save", "--output", str(archive), name)


async def _run(what: str, *command: str) -> None:
    code, said = await captured(command)
    if code != 0:
        last = "\n".join(said.rstrip().splitlines()[-_SHOWN_LINES:])
        raise BuildFailed(f"Failed, exit code {code}: {what}. It said last:\n\n{last}")
