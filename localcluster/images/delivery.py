"""Builds images from the sources, into a registry or into files."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from localcluster.images import container_tool, pip_site, recipe, sizes
from localcluster.images.archives import Archives
from localcluster.images.ensure import Builder, pip_options
from localcluster.machine.progress import Reporter, step


@dataclass(frozen=True, slots=True)
class Order:
    """A request to build images. `tool` None: the first that works. `registry` is HOST/PATH, or
    empty.

    `base_image` None: the tool's default. `push` needs a registry.
    """

    tool: str | None = None
    base_image: str | None = None
    registry: str = ""
    push: bool = False
    verify_tls: bool = True


async def deliver(order: Order, reporter: Reporter) -> str:
    """Builds, names and pushes; returns a report for people. Raises LocalClusterError."""
    tool = order.tool or await some_tool()
    if tool == "buildah":
        return await _with_buildah(order, reporter)
    await container_tool.require(tool)
    return await _with_container_tool(tool, order, reporter)


def target_of(name: str, registry: str) -> str:
    """Returns HOST/PATH/NAME:TAG for `localhost/NAME:TAG`; without a registry the name itself."""
    return f"{registry}/{name.rpartition('/')[2]}" if registry else name


async def some_tool() -> str:
    """Returns a tool that works, since users expect the images in its storage; else buildah."""
    for tool in container_tool.NAMES:
        if await container_tool.works(tool):
            return tool
    return "buildah"


async def _with_buildah(order: Order, reporter: Reporter) -> str:
    builder = Builder(reporter, Archives(), order.base_image)
    lines = []
    for binary in recipe.BINARIES:
        image = await builder.ensure(binary)
        lines += [sizes.report(image.name, image.archive), f"  archive: {image.archive}"]
        if order.push:
            target = target_of(image.name, order.registry)
            async with step(reporter, f"push {target}"), builder.opened(image) as buildah:
                await buildah.push(image.name, target, verify_tls=order.verify_tls)
            lines.append(f"  pushed: {target}")
        elif order.registry:
            target = target_of(image.name, order.registry)
            tagged = image.archive.with_name(f"{binary}.tar")
            async with step(reporter, f"name {target}"), builder.opened(image) as buildah:
                tagged.unlink(missing_ok=True)
                await buildah.save(image.name, tagged, target)
            lines.append(f"  archive as {target}: {tagged}")
    if order.base_image is None:
        lines.append(
            "Note: what they have of Python and of C libraries is this machine's distribution's, as"
            " released, without later security updates. For a cluster that others use name an image"
            " that is kept up to date: BASE_IMAGE=python:3.11-slim."
        )
    if not order.push:
        lines.append(
            "Into a node: ctr -n k8s.io images import ARCHIVE. Into docker or podman: load -i"
            " ARCHIVE. Into a registry: REGISTRY=HOST/PATH PUSH=1."
        )
    return "\n".join(lines)


async def _with_container_tool(tool: str, order: Order, reporter: Reporter) -> str:
    lines = []
    for binary in recipe.BINARIES:
        name = recipe.name_of(binary)
        with tempfile.TemporaryDirectory(prefix="appwrapper-images-") as folder:
            context = Path(folder, "context")
            recipe.stage(binary, context)
            arguments = {
                "VERSION": recipe.version(),
                "REVISION": await recipe.revision(binary),
                **({"BASE_IMAGE": order.base_image} if order.base_image else {}),
            }
            async with step(reporter, f"build the image {name} with {tool}"):
                await container_tool.build(
                    tool,
                    name,
                    context / recipe.dockerfile(binary),
                    context,
                    arguments=arguments,
                    secrets=pip_site.secrets(await pip_options(), Path(folder)),
                )
                archive = Path(folder, "image.tar")
                await container_tool.save(tool, name, archive)
            lines.append(sizes.report(name, archive))
        if order.registry:
            target = target_of(name, order.registry)
            await container_tool.tag(tool, name, target)
            lines.append(f"  tagged: {target}")
            if order.push:
                async with step(reporter, f"push {target}"):
                    await container_tool.push(tool, target, verify_tls=order.verify_tls)
                lines.append(f"  pushed: {target}")
    return "\n".join(lines)
