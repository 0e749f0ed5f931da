"""Builds the images that are missing."""

import contextlib
import hashlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from localcluster.images import pip_site, recipe, requirements, stand_in
from localcluster.images.archives import NEEDED, Archives
from localcluster.images.buildah import EPOCH, Buildah
from localcluster.images.image import Image, Images
from localcluster.machine.child import captured
from localcluster.machine.errors import BuildFailed
from localcluster.machine.progress import Reporter, step


async def ensure_images(reporter: Reporter) -> Images:
    """Returns the product's images, with the stand-in as base. Raises LocalClusterError."""
    builder = Builder(reporter, Archives())
    return Images(await builder.ensure("webhook"), await builder.ensure("controller"))


async def workload_image(reporter: Reporter) -> Image:
    """Returns the stand-in's own image, with a shell and Python. Raises LocalClusterError."""
    return await Builder(reporter, Archives()).ensure_stand_in()


async def torch_image(reporter: Reporter) -> Image:
    """Returns the stand-in with PyTorch; a build takes minutes. Raises LocalClusterError."""
    return await Builder(reporter, Archives()).ensure_packages(stand_in.torch())


class Builder:
    """Builds into `archives`. Raises ToolMissing if a required program is missing."""

    def __init__(
        self, reporter: Reporter, archives: Archives, base_image: str | None = None
    ) -> None:
        requirements.require(stand_in=base_image is None)
        self._reporter = reporter
        self._archives = archives
        self._base_image = base_image
        self._stand_in = None if base_image else stand_in.python()

    async def ensure(self, binary: str) -> Image:
        """Returns the image of the binary. Raises LocalClusterError."""
        content, arguments = recipe.content_hash(binary), await self._arguments(binary)
        name, key = recipe.name_of(binary), self._key(content, arguments)
        # Before the lock, which the stand-in needs too.
        found = self._archives.find(name, binary, key)
        base = await self.ensure_stand_in() if self._stand_in and found is None else None

        async def make(work: Path, buildah: Buildah) -> None:
            context = work / "context"
            recipe.stage(binary, context)
            if recipe.content_hash(binary, context) != content:
                raise BuildFailed(f"The files of {name} were changed meanwhile. Start again.")
            if base is not None:
                await buildah.load(base.archive)
            await buildah.build(
                name,
                context / recipe.dockerfile(binary),
                context,
                arguments=arguments,
                secrets=pip_site.secrets(await pip_options(), work),
                pull="never" if base is not None else "true",
            )

        return found or await self._ensure(name, binary, key, make)

    async def ensure_stand_in(self) -> Image:
        """Returns the stand-in's image. Raises LocalClusterError."""
        return await self.ensure_packages(self._stand_in or stand_in.python())

    async def ensure_packages(self, plan: stand_in.StandIn) -> Image:
        """Returns an image of the distribution's packages. Raises LocalClusterError."""

        async def make(work: Path, buildah: Buildah) -> None:
            await plan.make(work, self._archives.log, buildah)

        return await self._ensure(plan.name, plan.kind, plan.key, make, plan.megabytes)

    async def _ensure(
        self,
        name: str,
        kind: str,
        key: str,
        make: Callable[[Path, Buildah], Awaitable[None]],
        megabytes: int = NEEDED,
    ) -> Image:
        """Returns the image from the archives. If it is missing, `make` builds it in a storage."""
        found = self._archives.find(name, kind, key)
        if found is not None:
            return found
        async with self._archives.work_folder(self._reporter, megabytes) as work:
            # The lock's former holder may have built it.
            found = self._archives.find(name, kind, key)
            if found is not None:
                return found
            async with step(self._reporter, f"build the image {name}"):
                buildah = self._buildah(work)
                await make(work, buildah)
                return await self._archives.keep(
                    name, kind, key, work, lambda path: buildah.save(name, path)
                )

    @contextlib.asynccontextmanager
    async def opened(self, image: Image) -> AsyncIterator[Buildah]:
        """Loads the image into a storage, to push it from there. Raises LocalClusterError."""
        async with self._archives.work_folder(self._reporter) as work:
            buildah = self._buildah(work)
            await buildah.load(image.archive)
            yield buildah

    async def _arguments(self, binary: str) -> dict[str, str]:
        return {
            "VERSION": recipe.version(),
            "REVISION": await recipe.revision(binary),
            "BASE_IMAGE": self._base_image or stand_in.NAME,
        }

    def _key(self, content_hash: str, arguments: dict[str, str]) -> str:
        base = self._stand_in.key if self._stand_in else ""
        parts = f"{content_hash} {sorted(arguments.items())} {base} {EPOCH}"
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def _buildah(self, work: Path) -> Buildah:
        return Buildah(work / "buildah", self._archives.log, self._archives.pip_cache)


async def pip_options() -> str:
    """Returns pip's configuration for `pip_site.parse`; empty without pip."""
    code, listing = await captured((sys.executable, "-m", "pip", "config", "list"))
    return listing if code == 0 else ""
