"""kube-proxy: Services by iptables rules in the node's own network namespace."""

from ipaddress import IPv4Network
from pathlib import Path

import yaml

from localcluster.access import kubeconfig
from localcluster.access.probes import http_ok
from localcluster.access.running import OwnedCluster
from localcluster.machine.processes import ProcessSpec
from localcluster.machine.tools import system_path
from localcluster.realnode.init import NODE_NAME
from localcluster.realnode.namespaces import NodeNamespaces
from localcluster.realnode.subnets import Subnets
from shared.api.objects import JsonObject

_HEALTH_PORT = 10256


def spec(
    cluster: OwnedCluster, folder: Path, namespaces: NodeNamespaces, subnets: Subnets
) -> ProcessSpec:
    """Writes its files into `folder`; returns the process to start."""
    address, authority = subnets.node_address, cluster.authority
    identity = kubeconfig.write(
        folder / "kube-proxy.kubeconfig",
        server=cluster.access.server,
        authority=authority.certificate,
        user=kubeconfig.with_certificate(authority.client("kube-proxy", "system:kube-proxy")),
    )
    settings = folder / "kube-proxy.yaml"
    settings.write_text(yaml.safe_dump(configuration(identity, address, subnets.pods)))
    health = f"http://{address}:{_HEALTH_PORT}"
    return ProcessSpec(
        "kube-proxy",
        namespaces.command(str(cluster.programs["kube-proxy"]), f"--config={settings}"),
        http_ok(f"{health}/healthz"),
        address=health,
        environment=system_path(),
        folder=namespaces.folder,
    )


def configuration(identity: Path, address: str, pods: IPv4Network) -> JsonObject:
    """Returns kube-proxy's own configuration."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(identity), "qps": 100, "burst": 200},
        "mode": "iptables",
        "hostnameOverride": NODE_NAME,
        "bindAddress": address,
        "healthzBindAddress": f"{address}:{_HEALTH_PORT}",
        "metricsBindAddress": "127.0.0.1:10249",
        "clusterCIDR": str(pods),
        "detectLocalMode": "ClusterCIDR",
        # These limits belong to the whole machine and stay unchanged.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "iptables": {"minSyncPeriod": "100ms", "syncPeriod": "30s"},
        "oomScoreAdj": 0,
    }
