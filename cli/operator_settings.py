"""Find the operator's configuration in a cluster."""

from typing import Final

from shared.api.objects import CONFIGMAPS
from shared.kube.client import KubeClient, NotFound

CONFIG_NAME: Final = "appwrapper-operator-config"
CONFIG_KEY: Final = "config.yaml"
# The namespaces of this project's manifests and of MLBatch's first guides.
OPERATOR_NAMESPACES: Final = ("appwrapper-system", "mlbatch-system")


async def find_settings(client: KubeClient) -> tuple[str, str] | None:
    """Return namespace and text of the first existing ConfigMap, or None.

    Raises ApiError, such as Forbidden.
    """
    for namespace in OPERATOR_NAMESPACES:
        try:
            item = await client.get(CONFIGMAPS, namespace, CONFIG_NAME)
        except NotFound:
            continue
        text = (item.get("data") or {}).get(CONFIG_KEY)
        return namespace, text if isinstance(text, str) else ""
    return None
