"""Writes a kubeconfig with a ServiceAccount's own token, for a program that runs outside a pod."""

import contextlib
from pathlib import Path

from localcluster.access import kubeconfig
from localcluster.access.kubeconfig import ClusterAccess
from localcluster.machine.files import replace_private
from shared.api.objects import NAMESPACES, Resource
from shared.kube.client import AlreadyExists, KubeClient

_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
_TOKEN_SECONDS = 10 * 365 * 24 * 3600  # never renewed; no cluster lives that long


async def service_account_kubeconfig(
    folder: Path, access: ClusterAccess, client: KubeClient, namespace: str, name: str
) -> Path:
    """Writes a kubeconfig of this ServiceAccount; creates it and the namespace if absent.

    The token has a file of its own beside the kubeconfig, as it has in a pod. So the program reads
    it in the same way.
    """
    # Created, not applied: an apply would remove labels that another client set with less.
    for resource, place, each in ((NAMESPACES, None, namespace), (_ACCOUNTS, namespace, name)):
        body = {
            "apiVersion": resource.gvk.api_version,
            "kind": resource.kind,
            "metadata": {"name": each},
        }
        with contextlib.suppress(AlreadyExists):
            await client.create(resource, place, body)
    answer = await client.post(
        f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_SECONDS},
        },
    )
    token = folder / f"{namespace}.{name}.token"
    path = kubeconfig.write(
        folder / f"{namespace}.{name}.yaml",
        server=access.server,
        authority=access.authority,
        user=kubeconfig.with_token_file(token),
        namespace=namespace,
    )
    replace_private(token, answer["status"]["token"].encode())
    return path
