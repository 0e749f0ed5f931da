"""Runs the Go operator, built from its own module, as a process in the cluster.

It runs as in its module's config/default: the same ServiceAccount, roles and flags, with a
certificate kept by cert-controller. It runs outside a pod and beside our operator, so three things
differ. Addresses differ. Names begin with `peer-`, so that no object of our operator is changed.
Leader election is off: a lease of a stopped process would delay the next start by 15 seconds.
"""

from pathlib import Path

import aiohttp
import yaml

from bench.errors import PortTaken
from localcluster.access.apply import read_documents
from localcluster.access.probes import http_ok, trusting
from localcluster.cluster import LocalCluster
from localcluster.installers import manifests
from localcluster.installers.manifests import HostWebhook
from localcluster.installers.rotated_certificate import RotatedCertificate
from localcluster.machine import ports
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from localcluster.machine.waiting import Probe
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go
from shared.api.objects import JsonObject
from shared.process.clock import SystemClock

PROCESS = "go-operator"
_NAMESPACE = "peer-system"
_PREFIX = "peer-"
_ACCOUNT = f"{_PREFIX}controller-manager"
_SERVICE = f"{_PREFIX}webhook-service"
_SECRET = f"{_PREFIX}webhook-server-cert"
_AUTHORITY = "appwrapper-ca"
_CONFIGURATION = f"{_PREFIX}operator-config"
# Compiled into the program.
_PORT = 9443
# From config/manager/manager.yaml. Lower levels made no measurable difference.
_LOG_LEVEL = "--zap-log-level=2"
MUTATE_PATH = "/mutate-workload-codeflare-dev-v1beta2-appwrapper"
VALIDATE_PATH = "/validate-workload-codeflare-dev-v1beta2-appwrapper"


class Peer:
    """The Go operator in one cluster: prepared once, started and stopped as often as needed."""

    def __init__(self, cluster: LocalCluster, program: Path, module: Path) -> None:
        self._cluster = cluster
        self._program = program
        self._config = module / "config"
        self._certificate = RotatedCertificate.make(
            _AUTHORITY, f"{_SERVICE}.{_NAMESPACE}.svc", SystemClock().now()
        )
        self.webhook = HostWebhook(_NAMESPACE, _SERVICE, _PORT, self._certificate.authority)
        self._health = f"{HOST}:{cluster.ports.reserve()}"

    @classmethod
    async def build(cls, cluster: LocalCluster) -> "Peer":
        """Builds the program unless it is built already. Raises LocalClusterError."""
        component = CATALOGUE["appwrapper"]
        cache = BuildCache(default_folder(), await find_go(), cluster.reporter)
        programs = await cache.ensure([component])
        module = await cache.module_folder(component)
        return cls(cluster, programs[component.name], module)

    async def prepare(self) -> None:
        """Applies its namespace, identity, roles, Service and certificate, but no webhooks yet.

        Raises PortTaken at once if another process uses its fixed port.
        """
        _require_port()
        await self._cluster.apply(
            [
                manifests.namespace_document(_NAMESPACE),
                *manifests.rbac(self._config / "rbac", namespace=_NAMESPACE, prefix=_PREFIX),
                self._certificate.secret(_NAMESPACE, _SECRET),
                self.webhook.service_document,
            ]
        )
        self._certificate.write_to(self._certificates)

    async def start(self, *, access_reviews: bool = True) -> None:
        """Starts it; returns when its webhook answers. `access_reviews` False switches them off.

        Raises PortTaken if another process uses its fixed port, LocalClusterError if it does not
        start.
        """
        _require_port()
        await self._cluster.apply([self._configuration(access_reviews)])
        account = await self._cluster.service_account_kubeconfig(_NAMESPACE, _ACCOUNT)
        await self._cluster.processes.start(
            ProcessSpec(
                PROCESS,
                (
                    str(self._program),
                    f"--config={_CONFIGURATION}",
                    _LOG_LEVEL,
                ),
                self._probe(),
                address=f"http://{self._health}",
                environment={
                    "KUBECONFIG": str(account),
                    "NAMESPACE": _NAMESPACE,
                    # The webhook server reads its certificate below the folder for temporary files.
                    "TMPDIR": str(self._folder),
                },
            )
        )

    async def stop(self) -> None:
        """Stops it if it runs."""
        if self.running:
            await self._cluster.processes.stop(PROCESS)

    @property
    def running(self) -> bool:
        """True if it was started and has not ended since."""
        known = self._cluster.processes.get(PROCESS)
        return known is not None and known.child.exit_code is None

    def webhook_configurations(self) -> list[JsonObject]:
        """Returns its two webhook configurations, with the address of this machine's process."""
        documents = read_documents(self._config / "webhook" / "manifests.yaml")
        return [
            manifests.directed_webhooks(each, _PREFIX + each["metadata"]["name"], self.webhook)
            for each in documents
        ]

    @property
    def _folder(self) -> Path:
        return self._cluster.directory / PROCESS

    @property
    def _certificates(self) -> Path:
        return self._folder / "k8s-webhook-server" / "serving-certs"

    def _configuration(self, access_reviews: bool) -> JsonObject:
        hooks = {each["kind"]: each["metadata"]["name"] for each in self.webhook_configurations()}
        settings = {
            "appwrapper": {"userRBACAdmissionCheck": access_reviews},
            "certManagement": {
                "certificateDir": str(self._certificates),
                "mutatingWebhookConfigName": hooks["MutatingWebhookConfiguration"],
                "validatingWebhookConfigName": hooks["ValidatingWebhookConfiguration"],
                "webhookServiceName": _SERVICE,
                "webhookSecretName": _SECRET,
            },
            "controllerManager": {
                "health": {"bindAddress": self._health},
                "metrics": {"bindAddress": "0"},
                "leaderElection": False,
            },
        }
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _CONFIGURATION, "namespace": _NAMESPACE},
            "data": {"config.yaml": yaml.safe_dump(settings)},
        }

    def _probe(self) -> Probe:
        healthy = http_ok(f"http://{self._health}/readyz")
        context = trusting(str(self._certificates / "ca.crt"))
        url = f"https://{HOST}:{_PORT}{VALIDATE_PATH}"

        async def ask() -> str | None:
            if (missing := await healthy()) is not None:
                return missing
            # It reports ready before it serves these paths.
            try:
                async with (
                    aiohttp.ClientSession(trust_env=False) as session,
                    session.post(
                        url,
                        ssl=context,
                        server_hostname=self.webhook.host,
                        data=b"{}",
                        headers={"Content-Type": "application/json"},
                    ) as response,
                ):
                    return None if response.status != 404 else "its webhook is not served yet"
            except (aiohttp.ClientError, TimeoutError, OSError) as failure:
                return f"its webhook does not answer: {failure}"

        return ask  # fmt: skip


def _require_port() -> None:
    if not ports.is_free(_PORT):
        raise PortTaken(
            f"The Go operator's webhook listens on port {_PORT}, which is compiled into it, and"
            f" something else listens there. `ss -ltnp sport = :{_PORT}` says what."
        )
