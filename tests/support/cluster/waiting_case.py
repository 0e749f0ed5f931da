"""Submits one AppWrapper, NAME, that waits for more GPUs than there are."""

import json
from typing import Any

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.support.builders import appwrappers
from tests.support.builders.admission import POD
from tests.support.cluster.kubectl import Completed, Kubectl
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

NAME = "limits"
# More GPUs than there are, so that it waits and only its user changes it.
WAITING: dict[str, Any] = {
    **POD,
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1000}}}
        ],
    },
}


def manifest(*components: Any, **metadata: Any) -> str:
    """Returns a user's file, as JSON."""
    described = {"namespace": NAMESPACE, **(metadata or {"name": NAME})}
    return json.dumps(appwrappers.manifest(*components or [WAITING], **described))


async def stored(cluster: RunningCluster) -> JsonObject:
    return await cluster.client.get(APPWRAPPERS, NAMESPACE, NAME)


async def waiting(cluster: RunningCluster, kubectl: Kubectl, file: str) -> Completed:
    """Applies the file and waits until the AppWrapper is queued; returns kubectl's output."""
    applied = await kubectl.run("apply", "-f", "-", stdin=file)

    async def phase() -> str:
        return str((await stored(cluster)).get("status", {}).get("phase"))

    await comes_to(phase, "Suspended")
    return applied


def refusal(error: str) -> tuple[int, str]:
    return 1, f'The AppWrapper "{NAME}" is invalid: {error}\n'
