"""Builds images from the sources, into a registry, into files, or into a tool's own storage."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localcluster.images import pip_site, recipe
from localcluster.images.archives import Archives
from localcluster.images.ensure import Builder, pip_options
from localcluster.images.sandbox import failure_of
from localcluster.machine.child import captured
from localcluster.machine.errors import ToolMissing
from localcluster.machine.progress import Reporter, step

# They build into their own storage, where users expect images.
WITH_STORAGE = ("docker", "podman")


@dataclass(frozen=True, slots=True)
class ImageOrder:
    """`tool` None: the first that works. `base_image` None: the tool's default.

    `registry` is HOST/PATH, which gets the images, or empty.
    """

    tool: str | None = None
    base_image: str | None = None
    registry: str = ""
    verify_tls: bool = True


async def deliver(order: ImageOrder, reporter: Reporter) -> str:
    """Build, name and push; return a report for people. Raise LocalClusterError."""
    tool = order.tool or await some_tool()
    if tool == "buildah":
        return await _with_buildah(order, reporter)
    if not await works(tool):
        raise ToolMissing(
            f"`{tool} info` fails: {tool} is not installed, or its service does not run or is not"
            " open to this user. TOOL=buildah builds without a service, as root."
        )
    return await _into_storage(tool, order, reporter)


def target_of(name: str, registry: str) -> str:
    """Return HOST/PATH/NAME:TAG for `localhost/NAME:TAG`; without a registry the name itself."""
    return f"{registry}/{name.rpartition('/')[2]}" if registry else name


async def some_tool() -> str:
    """Return docker or podman if it works, else buildah."""
    for tool in WITH_STORAGE:
        if await works(tool):
            return tool
    return "buildah"


async def works(tool: str) -> bool:
    """True if the tool is installed and its service answers: docker's client alone cannot build."""
    return shutil.which(tool) is not None and (await captured((tool, "info")))[0] == 0


async def _with_buildah(order: ImageOrder, reporter: Reporter) -> str:
    builder = Builder(reporter, Archives(), order.base_image)
    lines = []
    for binary in recipe.BINARIES:
        image = await builder.ensure(binary)
        size = image.archive.stat().st_size
        lines += [f"{image.name}: {size / 1e6:.1f} MB", f"  archive: {image.archive}"]
        if order.registry:
            target = target_of(image.name, order.registry)
            async with step(reporter, f"push {target}"), builder.opened(image) as buildah:
                await buildah.push(image.name, target, verify_tls=order.verify_tls)
            lines.append(f"  pushed: {target}")
    if order.base_image is None:
        lines.append(
            "Note: their Python and C libraries are this machine's distribution's, as released,"
            " without later security updates. For a cluster that others use name an image that is"
            " kept up to date: BASE_IMAGE=python:3.11-slim."
        )
    if not order.registry:
        lines.append(
            "Into a node: ctr -n k8s.io images import ARCHIVE. Into docker or podman: load -i"
            " ARCHIVE. Into a registry: REGISTRY=HOST/PATH PUSH=1."
        )
    return "\n".join(lines)


async def _into_storage(tool: str, order: ImageOrder, reporter: Reporter) -> str:
    """Build with docker or podman. Raise BuildFailed."""
    no_tls = () if order.verify_tls else ("--tls-verify=false",)
    lines = []
    for binary in recipe.BINARIES:
        name = target_of(recipe.name_of(binary), order.registry)
        with tempfile.TemporaryDirectory(prefix="appwrapper-images-") as folder:
            context = Path(folder, "context")
            recipe.stage(binary, context)
            arguments = [f"VERSION={recipe.version()}", f"REVISION={await recipe.revision(binary)}"]
            arguments += [f"BASE_IMAGE={order.base_image}"] if order.base_image else []
            secrets = pip_site.secrets(await pip_options(), Path(folder))
            options = [word for each in arguments for word in ("--build-arg", each)]
            options += [
                word for each in secrets for word in ("--secret", f"id={each.name},src={each.file}")
            ]
            options += ["--file", str(context / recipe.dockerfile(binary)), "--tag", name]
            async with step(reporter, f"build the image {name} with {tool}"):
                await _run(f"build {name}", tool, "build", *options, str(context))
        lines.append(f"built: {name}")
        if order.registry:
            async with step(reporter, f"push {name}"):
                await _run(f"push {name}", tool, "push", *no_tls, name)
            lines.append(f"  pushed: {name}")
    return "\n".join(lines)


async def _run(what: str, *command: str) -> None:
    code, output = await captured(command)
    if code != 0:
        raise failure_of(what, code, output)
