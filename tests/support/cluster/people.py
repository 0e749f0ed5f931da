"""Users, programs and nodes with real credentials for the API server: no impersonation."""

from localcluster.access import kubeconfig
from localcluster.access.running import RunningCluster
from tests.support.cluster.kubectl import Kubectl


def person(cluster: RunningCluster, name: str, *groups: str) -> Kubectl:
    """Returns kubectl with a client certificate of this user in these groups."""
    certificate = cluster.authority.client(f"people/{name.replace(':', '.')}", name, groups)
    return Kubectl(
        cluster.kubectl,
        kubeconfig.write(
            cluster.directory / "people" / f"{name.replace(':', '.')}.yaml",
            server=cluster.access.server,
            authority=cluster.access.authority,
            user=kubeconfig.with_certificate(certificate),
        ),
    )


async def service_account(cluster: RunningCluster, namespace: str, name: str) -> Kubectl:
    """Returns kubectl with a token of this service account, which is created if absent."""
    return Kubectl(cluster.kubectl, await cluster.service_account_kubeconfig(namespace, name))


def admin(cluster: RunningCluster) -> Kubectl:
    """Returns kubectl as the cluster's administrator (system:masters)."""
    return Kubectl(cluster.kubectl, cluster.kubeconfig)
