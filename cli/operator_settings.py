"""Where the operator's configuration lies in a cluster."""

from typing import Final

from shared.api.objects import CONFIGMAPS
from shared.kube.client import KubeClient, NotFound

CONFIG_NAME: Final = "appwrapper-operator-config"
CONFIG_KEY: Final = "config.yaml"
# Where installations put it: the manifests of this project, and the first guides of MLBatch.
OPERATOR_NAMESPACES: Final = ("appwrapper-system", "mlbatch-system")


async def find_settings(client: KubeClient) -> tuple[str, str] | None:
    """The namespace and the text of the first that there is; None: there is none.

    Raises ApiError, Forbidden for example.
    """
    for namespace in OPERATOR_NAMESPACES:
        try:
            item = await client.get(CONFIGMAPS, namespace, CONFIG_NAME)
        except NotFound:
            continue
        text = (item.get("data") or {}).get(CONFIG_KEY)
        return namespace, text if isinstance(text, str) else ""
    return None
