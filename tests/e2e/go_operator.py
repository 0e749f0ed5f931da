"""The Go operator in pods: its module's own manifests, and an image of its program."""

import json
from pathlib import Path

from localcluster.cluster import LocalCluster
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go
from localcluster.realnode import sandbox_image
from tests.support.cluster.kubectl import Kubectl
from tests.support.patience import KUBECTL_PATIENCE

DEPLOYMENT = "deployment/appwrapper-controller-manager"
# As its manifests call it, with a tag: `latest` would be pulled each time.
_COMPONENT = "appwrapper"
IMAGE, TAG = "quay.io/ibm/appwrapper", CATALOGUE[_COMPONENT].version
_PROGRAM = "manager"  # what its Deployment starts
_CHANGES = (
    (f"image: {IMAGE}:latest", f"image: {IMAGE}:{TAG}"),
    # Its limit of two cores: below the quota of `scripts.at_half_speed`, version 1 of cgroups
    # starts no such container.
    ('cpu: "2"', 'cpu: "1"'),
)


class GoOperator:
    """Its manifests, and its image on the node."""

    def __init__(self, manifests: str) -> None:
        self._manifests = manifests

    @classmethod
    async def load(cls, cluster: LocalCluster, kubectl: Kubectl, folder: Path) -> "GoOperator":
        """Builds the program where it is not built yet."""
        assert cluster.node is not None
        component = CATALOGUE[_COMPONENT]
        cache = BuildCache(default_folder(), await find_go(), cluster.reporter)
        programs = await cache.ensure([component])
        archive = folder / "go-operator.tar"
        program = programs[component.name]
        sandbox_image.write_archive(program, archive, name=f"{IMAGE}:{TAG}", called=_PROGRAM)
        await cluster.node.load(archive)
        module = await cache.module_folder(component)
        rendered = await kubectl("kustomize", str(module / "config" / "default"))
        for written, meant in _CHANGES:
            assert written in rendered
            rendered = rendered.replace(written, meant)
        return cls(rendered)

    async def install(self, kubectl: Kubectl) -> None:
        """`kubectl apply`, as its documentation says; returns when it is ready.

        It looks for its certificate 1, 3, 7, ... 127, 255 seconds after it began, and its kubelet
        may take longer than 127 to bring it.
        """
        await kubectl("apply", "-f", "-", stdin=self._manifests)
        await kubectl("scale", "-n", "appwrapper-system", DEPLOYMENT, "--replicas=1")
        status = ("rollout", "status", "-n", "appwrapper-system", DEPLOYMENT, KUBECTL_PATIENCE)
        await kubectl(*status)

    async def left(self, kubectl: Kubectl) -> set[str]:
        """`Kind/name` of every object of its manifests that exists."""
        flags = ("--ignore-not-found", "-o", "json")
        found = json.loads(await kubectl("get", "-f", "-", *flags, stdin=self._manifests))
        return {f"{one['kind']}/{one['metadata']['name']}" for one in found["items"]}
