"""Opens the door: from a kubeconfig or the pod's identity to a ready client."""

import asyncio

from shared.clock import SystemClock
from shared.kube.credentials import load_credentials
from shared.kube.http_client import HttpKubeClient


async def connect(
    kubeconfig: str | None = None, *, user_agent: str = "appwrapper-operator/0.1"
) -> HttpKubeClient:
    """A client under the identity that `credentials.load_credentials` finds; the caller closes it.

    No request is sent yet: the server need not be up. Raises CannotConnect.
    """
    # In a thread: it reads files and may start a program.
    credentials = await asyncio.to_thread(load_credentials, kubeconfig)
    return HttpKubeClient(credentials, SystemClock(), user_agent=user_agent)
