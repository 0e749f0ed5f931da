"""Runs our webhook and controller in pods, installed as a user installs them.

The manifests are unchanged: `kubectl apply -k` with the administrator's kubeconfig, then a wait
until all replicas are available. The cluster needs a real node with the two images.
"""

from pathlib import Path

from localcluster import pod_diagnostics
from localcluster.access.running import OwnedCluster
from localcluster.machine.child import captured
from localcluster.machine.errors import LocalClusterError, ProcessFailed
from localcluster.machine.progress import step
from localcluster.machine.slowness import stretched
from localcluster.product import MANIFESTS, NAMESPACE
from shared.api.objects import APPWRAPPERS

DEFINITION = MANIFESTS / "crd"
OVERLAY = MANIFESTS / "overlays" / "default"
_DEFINED = f"{APPWRAPPERS.plural}.{APPWRAPPERS.group}"
_AVAILABLE_SECONDS = stretched(300.0)
_ESTABLISHED_SECONDS = stretched(180.0)


class ProductInPods:
    """The product in one cluster that has a real node."""

    def __init__(self, cluster: OwnedCluster) -> None:
        self._cluster = cluster

    async def apply_definition(self) -> None:
        """Applies the AppWrapper CRD alone: Kueue, which starts meanwhile, requires it."""
        await self._kubectl("apply", "-k", str(DEFINITION))
        established = ("--for=condition=Established", f"--timeout={_ESTABLISHED_SECONDS:.0f}s")
        await self._kubectl("wait", *established, f"crd/{_DEFINED}")

    async def start(self) -> None:
        """Applies the default overlay and waits for its Deployments. Raises ProcessFailed."""
        async with step(self._cluster.reporter, f"kubectl apply -k {_shown(OVERLAY)}"):
            await self._kubectl("apply", "-k", str(OVERLAY))
        async with step(self._cluster.reporter, "wait until the webhook and the controller run"):
            # Not `rollout status`: that fails at the Deployments' progressDeadlineSeconds, which a
            # slow machine does not stretch. These may miss no replica, so available ones are all.
            code, output = await self._run(
                *("wait", "--for=condition=Available", "deployments", "--all"),
                *(f"--namespace={NAMESPACE}", f"--timeout={_AVAILABLE_SECONDS:.0f}s"),
            )
            if code != 0:
                raise ProcessFailed(
                    f"The product does not run: {output.strip()}{await self.last_words()}"
                )

    async def last_words(self) -> str:
        """Returns the pods' states and last log lines, for the end of a message."""
        return await pod_diagnostics.last_words(self._cluster, NAMESPACE)

    async def _kubectl(self, *arguments: str) -> None:
        code, output = await self._run(*arguments)
        if code != 0:
            raise LocalClusterError(f"`kubectl {' '.join(arguments)}` failed: {output.strip()}")

    async def _run(self, *arguments: str) -> tuple[int, str]:
        administrator = f"--kubeconfig={self._cluster.kubeconfig}"
        return await captured((str(self._cluster.kubectl), administrator, *arguments))


def _shown(path: Path) -> str:
    return str(path.relative_to(MANIFESTS.parent.parent))
