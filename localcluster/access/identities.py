"""Writes a kubeconfig with a ServiceAccount's own token, for a program that runs outside a pod."""

import contextlib
from pathlib import Path

from localcluster.access import kubeconfig
from localcluster.access.kubeconfig import ClusterAccess
from localcluster.machine.files import replace_private
from shared.api.objects import NAMESPACES, JsonObject, Resource
from shared.kube.client import AlreadyExists, KubeClient

_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
_TOKEN_SECONDS = 10 * 365 * 24 * 3600  # never renewed; no cluster lives that long


class Identities:
    """Makes kubeconfig files under `folder`, one per ServiceAccount."""

    def __init__(self, folder: Path, access: ClusterAccess, client: KubeClient) -> None:
        self._folder = folder
        self._access = access
        self._client = client

    async def service_account(self, namespace: str, name: str) -> Path:
        """Writes a kubeconfig of this ServiceAccount; creates it and the namespace if absent.

        The token has a file of its own beside the kubeconfig, as it has in a pod. So the program
        reads it in the same way.
        """
        # Created, not applied: an apply would remove labels that another client set with less.
        await self._create_absent(NAMESPACES, None, {"name": namespace})
        await self._create_absent(_ACCOUNTS, namespace, {"name": name})
        answer = await self._client.post(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": _TOKEN_SECONDS},
            },
        )
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = self._folder / f"{namespace}.{name}.token"
        replace_private(token, answer["status"]["token"].encode())
        return kubeconfig.write(
            self._folder / f"{namespace}.{name}.yaml",
            server=self._access.server,
            authority=self._access.authority,
            user=kubeconfig.with_token_file(token),
            namespace=namespace,
        )

    async def _create_absent(
        self, resource: Resource, namespace: str | None, metadata: JsonObject
    ) -> None:
        body = {
            "apiVersion": resource.gvk.api_version,
            "kind": resource.kind,
            "metadata": metadata,
        }
        with contextlib.suppress(AlreadyExists):
            await self._client.create(resource, namespace, body)
