"""Controllers of a test: real processes, beside the cluster's own one or instead of it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from localcluster.access.probes import http_ok
from localcluster.cluster import LocalCluster
from localcluster.machine.child import Child
from localcluster.machine.slowness import stretched
from tests.support.manifests import ROOT
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import PATIENCE_SECONDS, comes_to

PROGRAM = ("-m", "controller")
LEADS = "leads: "
LEADS_NO_LONGER = "leads no longer: "


class ControllerProcess:
    """One process after another with the same configuration and log. `start` it first."""

    def __init__(self, folder: Path, health: str, program: Sequence[str]) -> None:
        self._folder = folder
        self._health = health
        self._program = program
        self._log = folder / "log"
        self.words = ControllerWords(folder / "config.yaml", self._log)

    def start(self) -> None:
        """Start it, for the first time or again after its end."""
        config = str(self._folder / "config.yaml")
        kubeconfig = str(self._folder / "kubeconfig")
        with self._log.open("ab") as output:
            self.child = Child(
                (sys.executable, *self._program, "--config", config),
                output=output,
                environment={"KUBECONFIG": kubeconfig, "PYTHONUNBUFFERED": "1", "PATH": "/usr/bin"},
                folder=ROOT,
            )

    @property
    def output(self) -> str:
        return self._log.read_text(errors="replace")

    async def says(self, text: str, *, times: int = 1, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until its log has this text so many times."""

        async def is_logged() -> bool:
            return self.output.count(text) >= times

        try:
            await comes_to(is_logged, True, seconds)
        except AssertionError:
            raise AssertionError(f"{text!r} is missing: {self.output[-5_000:]}") from None

    async def is_ready(self) -> bool:
        return await http_ok(f"{self._health}/readyz")() is None

    async def becomes(self, path: str) -> None:
        """Waits until it answers 200 there."""
        probe = http_ok(self._health + path)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (missing := await probe()) is not None:
                assert self.child.exit_code is None, (missing, self.output)
                await asyncio.sleep(0.05)

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.child.wait()


@asynccontextmanager
async def controller(
    cluster: LocalCluster,
    folder: Path,
    server: str,
    *,
    authority: Path | None = None,
    lease: bool = True,
    program: Sequence[str] = PROGRAM,
) -> AsyncIterator[ControllerProcess]:
    """Start a controller with the cluster's own configuration and identity; end it in the end.

    It reaches the API server at `server`, whose CA is the file `authority`.
    """
    folder.mkdir(exist_ok=True)
    account = await cluster.service_account_kubeconfig("appwrapper-system", "appwrapper-controller")
    document = yaml.safe_load(account.read_text())
    reached = document["clusters"][0]["cluster"]
    reached["server"] = server
    if authority is not None:
        reached["certificate-authority"] = str(authority)
    (folder / "kubeconfig").write_text(yaml.safe_dump(document))
    config = yaml.safe_load((cluster.directory / "product" / "controller.yaml").read_text())
    health = f"127.0.0.1:{cluster.ports.reserve()}"
    config["controllerManager"] = {
        "health": {"bindAddress": health},
        "metrics": {"bindAddress": f"127.0.0.1:{cluster.ports.reserve()}"},
        "leaderElection": lease,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    process = ControllerProcess(folder, f"http://{health}", program)
    process.start()
    try:
        yield process
    finally:
        await process.child.stop(stretched(10.0))
