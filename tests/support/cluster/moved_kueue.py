"""Installs another version of Kueue in a running cluster, as admins do (docs/admins/kueue.md)."""

from collections.abc import Awaitable, Callable

from localcluster.cluster import LocalCluster
from localcluster.installers import kueue
from localcluster.machine.progress import reporter_for
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import component
from localcluster.programs.toolchain import find_go


async def move_kueue(
    cluster: LocalCluster, version: str, meanwhile: Callable[[], Awaitable[None]]
) -> None:
    """Stops the running version and applies the other's manifests over its own.

    `meanwhile` runs while there is no Kueue.
    """
    wanted = component("kueue", version)
    cache = BuildCache(default_folder(), await find_go(), reporter_for())
    cluster.programs.update(await cache.ensure([wanted]))
    cluster.modules = {**cluster.modules, "kueue": await cache.module_folder(wanted)}
    await cluster.processes.stop("kueue")
    try:
        await meanwhile()
    finally:  # without Kueue nothing could be removed
        await kueue.install(cluster)
