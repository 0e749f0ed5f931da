"""People, programs and nodes as the API server really authenticates them: no impersonation."""

from localcluster.access import kubeconfig
from localcluster.access.running import RunningCluster
from tests.support.cluster.kubectl import Kubectl


def person(cluster: RunningCluster, name: str, *groups: str) -> Kubectl:
    """kubectl with a client certificate of this user in these groups."""
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
    """kubectl with a token of this service account, which is made where absent."""
    return Kubectl(cluster.kubectl, await cluster.service_account_kubeconfig(namespace, name))


def admin(cluster: RunningCluster) -> Kubectl:
    """kubectl as the cluster's administrator (system:masters)."""
    return Kubectl(cluster.kubectl, cluster.kubeconfig)
