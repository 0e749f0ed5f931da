"""Runs our webhook and controller in pods, installed as a user installs them.

The manifests are unchanged: `kubectl apply -k` with the administrator's kubeconfig, then a wait
until the rollout ends. The cluster needs a real node with the two images.
"""

from pathlib import Path

from localcluster import pod_diagnostics
from localcluster.access.running import OwnedCluster
from localcluster.machine.child import captured
from localcluster.machine.errors import LocalClusterError, ProcessFailed
from localcluster.machine.progress import step
from localcluster.machine.slowness import stretched
from localcluster.machine.waiting import still_missing
from localcluster.product import MANIFESTS, NAMESPACE
from shared.api.objects import APPWRAPPERS, JsonObject, Resource

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
DEFINITION = MANIFESTS / "crd"
OVERLAY = MANIFESTS / "overlays" / "default"
_DEFINED = f"{APPWRAPPERS.plural}.{APPWRAPPERS.group}"
# The Deployments' own limit (progressDeadlineSeconds).
_ROLLOUT_SECONDS = stretched(300.0)
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
            await self._until_rolled_out()

    async def last_words(self) -> str:
        """Returns the pods' states and last log lines, for the end of a message."""
        return await pod_diagnostics.last_words(self._cluster, NAMESPACE)

    async def _until_rolled_out(self) -> None:
        missing = await still_missing(self._not_rolled_out, _ROLLOUT_SECONDS)
        if missing is not None:
            raise ProcessFailed(
                f"The product does not run after {_ROLLOUT_SECONDS:.0f} s:"
                f" {missing}.{await self.last_words()}"
            )

    async def _not_rolled_out(self) -> str | None:
        found = [
            deployment
            async for page in self._cluster.client.pages(DEPLOYMENTS, NAMESPACE)
            for deployment in page.items
        ]
        if not found:
            return f"there is no Deployment in {NAMESPACE}"
        return "; ".join(filter(None, map(missing_of, found))) or None

    async def _kubectl(self, *arguments: str) -> None:
        administrator = f"--kubeconfig={self._cluster.kubeconfig}"
        code, output = await captured((str(self._cluster.kubectl), administrator, *arguments))
        if code != 0:
            raise LocalClusterError(f"`kubectl {' '.join(arguments)}` failed: {output.strip()}")


def missing_of(deployment: JsonObject) -> str | None:
    """Returns why a Deployment is not rolled out; None if it is, by the rules of `kubectl`."""
    name, wanted = deployment["metadata"]["name"], deployment["spec"].get("replicas", 1)
    status = deployment.get("status", {})
    if status.get("observedGeneration", 0) < deployment["metadata"]["generation"]:
        return f"{name}: the controller manager has not seen it yet"
    if (updated := status.get("updatedReplicas", 0)) < wanted:
        return f"{name}: {updated} of {wanted} pods are new"
    if (old := status.get("replicas", 0) - updated) > 0:
        return f"{name}: {old} old pods are not gone"
    if (available := status.get("availableReplicas", 0)) < wanted:
        return f"{name}: {available} of {wanted} pods are available"
    return None


def _shown(path: Path) -> str:
    return str(path.relative_to(MANIFESTS.parent.parent))
