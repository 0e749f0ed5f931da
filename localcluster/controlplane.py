"""Runs etcd, the API server, the controller manager and the scheduler on the loopback interface.

The pods of a real node must reach the API server. It alone then listens at another address, which
this machine has for that node only.

The flags were tried on real machines; a comment explains each that is not obvious.
"""

import ipaddress
from dataclasses import dataclass

from localcluster.access import kubeconfig
from localcluster.access.certificates import KeyPairFiles
from localcluster.access.kubeconfig import ClusterAccess
from localcluster.access.probes import http_ok, trusting
from localcluster.access.running import OwnedCluster
from localcluster.machine.concurrency import together
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from shared.api.objects import JsonObject

_SERVICES = "10.96.0.0/16"
_KUBELET_CLIENT = "kube-apiserver-kubelet-client"
_AGGREGATOR = "kube-aggregator"
_IN_FULL = ".default.svc.cluster.local"
# Two cores carry the whole cluster: garbage is collected less often, up to a limit of memory.
_MEMORY_FOR_TIME = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}
_ISSUER = f"https://kubernetes{_IN_FULL}"


@dataclass(frozen=True, slots=True)
class ApiServerReach:
    """Connections to and from the API server: by default only to programs on this machine.

    `host` is its address. `services` is the range of the Services' addresses. `nodes`: the cluster
    has real nodes, whose pods connect to the API server, and it reads logs from their kubelets.
    """

    host: str = HOST
    services: str = _SERVICES
    nodes: bool = False

    @property
    def first_service(self) -> str:
        """Returns the address of Service `kubernetes`, at which pods reach the API server."""
        return str(ipaddress.ip_network(self.services)[1])

    def flags(self, kubelet_client: KeyPairFiles) -> tuple[str, ...]:
        """Returns the API server's flags. `kubelet_client` is its identity for kubelets."""
        bound = (
            f"--bind-address={self.host}",
            f"--advertise-address={self.host}",
            f"--service-cluster-ip-range={self.services}",
        )
        if not self.nodes:
            # Endpoints may not be loopback addresses, and no pod connects to this one.
            return (
                *bound,
                "--authorization-mode=RBAC",
                "--endpoint-reconciler-type=none",
            )
        return (
            *bound,
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--kubelet-client-certificate={kubelet_client.certificate}",
            f"--kubelet-client-key={kubelet_client.key}",
            "--kubelet-preferred-address-types=InternalIP",
        )


def kubelet_access() -> JsonObject:
    """Allows the API server all kubelet requests that `kubectl logs` and `kubectl exec` need."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": _KUBELET_CLIENT},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": _KUBELET_CLIENT}],
    }


class ControlPlane:
    """The control plane of a cluster, which has its folder, programs and authority."""

    def __init__(self, cluster: OwnedCluster, reach: ApiServerReach) -> None:
        self._cluster = cluster
        self._reach = reach
        authority = cluster.authority
        self._api_port = cluster.ports.reserve()
        self._etcd_port = cluster.ports.reserve()
        admin = authority.client("admin", "localcluster-admin", ("system:masters",))
        server = f"https://{reach.host}:{self._api_port}"
        self.access = ClusterAccess(
            server,
            authority.certificate,
            admin,
            kubeconfig.write(
                cluster.directory / "kubeconfig",
                server=server,
                authority=authority.certificate,
                user=kubeconfig.with_certificate(admin),
            ),
        )
        self._service_account_keys = authority.service_account_keys()
        self._kubelet_client = authority.client(_KUBELET_CLIENT, _KUBELET_CLIENT)
        self._aggregator = authority.client(_AGGREGATOR, _AGGREGATOR)
        # Each address once: `host` is HOST where there is no real node.
        addresses = dict.fromkeys((HOST, reach.host, reach.first_service))
        names = [f"kubernetes{each}" for each in ("", ".default", ".default.svc", _IN_FULL)]
        self._serving = authority.serving("control-plane", (*addresses, "localhost", *names))

    async def start_api(self) -> None:
        """Starts etcd and the API server, which waits for etcd; returns when it is ready."""
        etcd_peer = self._cluster.authority.serving("etcd", (HOST, "localhost"), with_client=True)
        await together(
            self._cluster.processes.start(self._etcd(etcd_peer)),
            self._cluster.processes.start(self._api_server(etcd_peer)),
        )

    async def start_controllers(self) -> None:
        """Starts the controller manager and the scheduler; returns when both are healthy."""
        await together(
            self._cluster.processes.start(self._controller_manager()),
            self._cluster.processes.start(self._controller("kube-scheduler")),
        )

    def _etcd(self, pair: KeyPairFiles) -> ProcessSpec:
        client = f"https://{HOST}:{self._etcd_port}"
        peer = f"https://{HOST}:{self._cluster.ports.reserve()}"
        authority = str(self._cluster.authority.certificate)
        command = (
            str(self._cluster.programs["etcd"]),
            "--name=localcluster",
            f"--data-dir={self._cluster.directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=localcluster={peer}",
            # etcd's clients bypass every permission: only clients with a certificate may connect.
            f"--cert-file={pair.certificate}",
            f"--key-file={pair.key}",
            f"--trusted-ca-file={authority}",
            "--client-cert-auth",
            f"--peer-cert-file={pair.certificate}",
            f"--peer-key-file={pair.key}",
            f"--peer-trusted-ca-file={authority}",
            "--peer-client-cert-auth",
            "--unsafe-no-fsync",  # the data is thrown away with the cluster
            "--log-level=warn",
        )
        probe = http_ok(f"{client}/health", trusting(authority, pair))
        return ProcessSpec("etcd", command, probe, client, _MEMORY_FOR_TIME, tier=0)

    def _api_server(self, etcd: KeyPairFiles) -> ProcessSpec:
        keys = self._service_account_keys
        authority = str(self._cluster.authority.certificate)
        command = (
            str(self._cluster.programs["kube-apiserver"]),
            f"--etcd-servers=https://{HOST}:{self._etcd_port}",
            f"--etcd-cafile={authority}",
            f"--etcd-certfile={etcd.certificate}",
            f"--etcd-keyfile={etcd.key}",
            f"--secure-port={self._api_port}",
            *self._reach.flags(self._kubelet_client),
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--client-ca-file={authority}",
            f"--service-account-issuer={_ISSUER}",
            f"--service-account-key-file={keys.certificate}",
            f"--service-account-signing-key-file={keys.key}",
            *self._aggregation(),
            "--allow-privileged",
            "--max-requests-inflight=1000",
            "--max-mutating-requests-inflight=500",
            "--profiling=false",
        )
        probe = http_ok(f"{self.access.server}/readyz", trusting(authority, self.access.admin))
        address = self.access.server
        return ProcessSpec("kube-apiserver", command, probe, address, _MEMORY_FOR_TIME, tier=1)

    def _aggregation(self) -> tuple[str, ...]:
        """Returns the flags for APIs that other servers provide.

        This client alone sends them the user's identity, in headers.
        """
        return (
            f"--proxy-client-cert-file={self._aggregator.certificate}",
            f"--proxy-client-key-file={self._aggregator.key}",
            f"--requestheader-client-ca-file={self._cluster.authority.certificate}",
            f"--requestheader-allowed-names={_AGGREGATOR}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        )

    def _controller_manager(self) -> ProcessSpec:
        return self._controller(
            "kube-controller-manager",
            f"--service-account-private-key-file={self._service_account_keys.key}",
            f"--root-ca-file={self._cluster.authority.certificate}",
            "--use-service-account-credentials",
            "--concurrent-job-syncs=20",
        )

    def _controller(self, name: str, *flags: str) -> ProcessSpec:
        address = f"https://{HOST}:{(port := self._cluster.ports.reserve())}"
        authority = self._cluster.authority
        identity = kubeconfig.write(
            self._cluster.directory / "kubeconfigs" / f"{name}.yaml",
            server=self.access.server,
            authority=authority.certificate,
            user=kubeconfig.with_certificate(authority.client(name, f"system:{name}")),
        )
        command = (
            str(self._cluster.programs[name]),
            f"--kubeconfig={identity}",
            "--leader-elect=false",
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
            "--profiling=false",
            *flags,
        )
        probe = http_ok(f"{address}/healthz", trusting(str(authority.certificate)))
        return ProcessSpec(name, command, probe, address, _MEMORY_FOR_TIME, tier=2)
