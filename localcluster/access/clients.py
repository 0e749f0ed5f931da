"""Connects to a local cluster with time limits for a busy machine."""

from pathlib import Path
from typing import Final

from localcluster.machine.slowness import stretched
from shared.kube.connection import Timeouts
from shared.kube.http_client import HttpKubeClient, connect

# The API server itself gives up after 60 s, and its answer names the cause.
PATIENT: Final = Timeouts(request=stretched(65.0), connect=stretched(10.0))


async def connect_patiently(kubeconfig: Path, user_agent: str = "localcluster") -> HttpKubeClient:
    """Return a client that the caller closes. Raise CannotConnect."""
    return await connect(str(kubeconfig), user_agent=user_agent, timeouts=PATIENT)
