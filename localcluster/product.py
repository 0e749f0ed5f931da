"""Runs our webhook and controller in a local cluster, as processes with their own identities.

The manifests are those that users install, changed only for a program outside a pod: the webhook's
Service leads to this machine, at the program's port. The webhook makes its certificate and fills in
the caBundle, as everywhere. `product_in_pods` runs both in pods.
"""

import sys
from pathlib import Path

import yaml

from localcluster.access.apply import read_documents
from localcluster.access.probes import http_ok, unverified
from localcluster.access.running import OwnedCluster
from localcluster.installers.coscheduler import SCHEDULER
from localcluster.machine.child import captured
from localcluster.machine.concurrency import together
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec, last_words
from localcluster.machine.progress import step
from localcluster.machine.waiting import Probe
from shared.api.objects import JsonObject

NAMESPACE = "appwrapper-system"
_SERVICE = "appwrapper-webhook-service"
_ROOT = Path(__file__).resolve().parent.parent
MANIFESTS = _ROOT / "deploy" / "manifests"
# These need a cluster with real nodes: here the programs run as processes.
_LEFT_OUT = frozenset({"Deployment", "PodDisruptionBudget", "NetworkPolicy"})
# No Service needs time to drop the webhook here, and `down` must be quick.
_DRAIN = "300ms"
_WEBHOOK_CONFIGURATIONS = frozenset(
    {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
)


class Product:
    """The product in one cluster."""

    def __init__(self, cluster: OwnedCluster) -> None:
        self._cluster = cluster
        self._folder = cluster.directory / "product"
        self._webhook_port = cluster.ports.reserve()

    async def apply_definition(self) -> None:
        """Applies the AppWrapper CRD, on which all else depends."""
        await self._cluster.apply(read_documents(MANIFESTS / "crd"))

    async def start(self) -> None:
        """Applies the default overlay and starts both programs; returns when both are ready."""
        async with step(self._cluster.reporter, "start the AppWrapper webhook and controller"):
            documents = await self._render()
            configuration = _configuration_in(documents)
            if "coscheduler" in self._cluster.options.components:
                # As in a usual installation: pods that name no scheduler are ganged and packed.
                configuration.setdefault("appwrapper", {})["schedulerName"] = SCHEDULER
            self._add_error_store(configuration)
            await self._cluster.apply(documents)
            await together(
                self._start_webhook(configuration), self._start_controller(configuration)
            )

    def _add_error_store(self, configuration: JsonObject) -> None:
        """Adds the store `local`, a folder of the cluster."""
        folder = self._cluster.directory / "error-store"
        folder.mkdir(exist_ok=True)
        section = configuration.setdefault("appwrapper", {})
        for key in ("faultTolerance", "errorAggregation", "stores"):
            section = section.setdefault(key, {})
        section["local"] = folder.as_uri()

    async def last_words(self) -> str:
        """Returns the webhook's last log lines, for the end of a message."""
        return last_words(self._cluster.processes["webhook"].log)

    async def _render(self) -> list[JsonObject]:
        overlay = MANIFESTS / "overlays" / "default"
        code, output = await captured((str(self._cluster.kubectl), "kustomize", str(overlay)))
        if code != 0:
            raise LocalClusterError(f"`kubectl kustomize {overlay}` failed: {output.strip()}")
        documents = [each for each in yaml.safe_load_all(output) if each]
        for document in documents:
            if document["kind"] == "Service" and document["metadata"]["name"] == _SERVICE:
                document["spec"] = {"type": "ExternalName", "externalName": "localhost"}
            if document["kind"] in _WEBHOOK_CONFIGURATIONS:
                for webhook in document["webhooks"]:
                    webhook["clientConfig"]["service"]["port"] = self._webhook_port
        return [each for each in documents if each["kind"] not in _LEFT_OUT]

    async def _start_webhook(self, configuration: JsonObject) -> None:
        address = f"https://{HOST}:{self._webhook_port}"
        # Probes as the kubelet does; `wait_for_webhook` checks the API server's trust.
        probe = http_ok(f"{address}/readyz", unverified())
        arguments = ("--port", str(self._webhook_port))
        listener = {"bindAddress": f"{HOST}:{self._webhook_port}", "drainPeriod": _DRAIN}
        await self._run("webhook", arguments, configuration, {"webhook": listener}, address, probe)

    async def _start_controller(self, configuration: JsonObject) -> None:
        health = f"{HOST}:{self._cluster.ports.reserve()}"
        address = f"http://{health}"
        probe = http_ok(f"{address}/readyz")
        listeners = {"health": {"bindAddress": health}}
        await self._run("controller", (), configuration, listeners, address, probe)

    async def _run(
        self,
        name: str,
        arguments: tuple[str, ...],
        configuration: JsonObject,
        listeners: dict[str, JsonObject],
        address: str,
        probe: Probe,
    ) -> None:
        """Starts one program under its own identity, with listeners of its own."""
        account = await self._cluster.service_account_kubeconfig(NAMESPACE, f"appwrapper-{name}")
        metrics = {"bindAddress": f"{HOST}:{self._cluster.ports.reserve()}"}
        section = configuration.get("controllerManager", {}) | {"metrics": metrics} | listeners
        file = self._folder / f"{name}.yaml"
        self._folder.mkdir(exist_ok=True)
        file.write_text(yaml.safe_dump(configuration | {"controllerManager": section}))
        await self._cluster.processes.start(
            ProcessSpec(
                name,
                (sys.executable, "-m", name, "--config", str(file), *arguments),
                probe,
                address=address,
                environment={"KUBECONFIG": str(account), "PYTHONUNBUFFERED": "1"},
                folder=_ROOT,
                tier=4,
            )
        )


def _configuration_in(documents: list[JsonObject]) -> JsonObject:
    """Returns the decoded configuration in the overlay's ConfigMap."""
    for document in documents:
        if document["kind"] == "ConfigMap" and "config.yaml" in document.get("data", {}):
            decoded: JsonObject = yaml.safe_load(document["data"]["config.yaml"]) or {}
            return decoded
    raise LocalClusterError(f"{MANIFESTS} holds no ConfigMap with the key config.yaml.")
