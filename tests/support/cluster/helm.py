"""Runs the real Helm."""

import os
from dataclasses import dataclass
from pathlib import Path

import yaml

from localcluster.machine.child import captured
from localcluster.machine.progress import reporter_for
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go, find_kubectl
from shared.api.objects import JsonObject
from tests.support.manifests import CHART, ROOT

NAME = "helm"
NAMESPACE = ("--namespace", "appwrapper-system")


async def helm_and_kubectl() -> tuple[Path, Path]:
    """Returns both programs, built if they are missing."""
    cache = BuildCache(default_folder(), await find_go(), reporter_for())
    there = await find_kubectl()
    needed = [NAME] if there else [NAME, "kubectl"]
    built = await cache.ensure([CATALOGUE[each] for each in needed])
    return built[NAME], there or built["kubectl"]


@dataclass(frozen=True, slots=True)
class Rejected(Exception):
    """Helm's message."""

    message: str


@dataclass(frozen=True, slots=True)
class Helm:
    """Helm without a cluster. Its own files are in `home`."""

    program: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """No file of the user's Helm is read or written."""
        folders = {f"HELM_{each}_HOME": str(self.home) for each in ("CACHE", "CONFIG", "DATA")}
        return folders | {"PATH": f"{self.program.parent}:{os.environ['PATH']}"}

    async def run(self, *arguments: str) -> str:
        """Returns what it prints. Raises Rejected."""
        code, output = await captured(
            (str(self.program), *arguments), environment=os.environ | self.environment, folder=ROOT
        )
        if code != 0:
            raise Rejected(output)
        return output

    async def template(
        self, *options: str, values: JsonObject, chart: Path = CHART
    ) -> list[JsonObject]:
        """Returns the chart's objects. Raises Rejected."""
        file = self.home / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        # Without a cluster, a Helm that its maintainers did not build assumes Kubernetes 1.20.
        version = ("--kube-version", CATALOGUE["kubernetes"].version)
        where = ("template", "appwrapper", str(chart), "--values", str(file))
        output = await self.run(*where, *version, *NAMESPACE, *options)
        # Notes about links to the manifests come first.
        _, _, rendered = output.partition("---\n")
        return [each for each in yaml.safe_load_all(rendered) if each is not None]
