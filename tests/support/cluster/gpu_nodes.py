"""Labels the shared cluster's GPU nodes like Autopilot, and runs AppWrappers that use GPUs."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from localcluster.cluster import LocalCluster
from localcluster.machine.child import captured
from shared.api.objects import APPWRAPPERS, NODES, PODS, JsonObject
from shared.kube.client import KubeClient, NotFound, PatchType, Propagation
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions, version_of
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.jobs import job
from tests.support.cluster.life import Life, listed
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import PATIENCE_SECONDS, comes_to
from tests.support.team import NAMESPACE

PAGE = "docs/admins/node-health.md"
_LONGEST_SECONDS = 2 * PATIENCE_SECONDS
NO_EXECUTE = "appwrapper_nodes_no_execute"
RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}


class GpuNodes:
    """`label` writes Autopilot's labels; in the end every node is restored."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.client: KubeClient = cluster.client
        self._labelled: set[tuple[str, str]] = set()
        self._stack = AsyncExitStack()
        self._words = ControllerWords(
            cluster.directory / "product" / "controller.yaml", cluster.processes["controller"].log
        )

    async def label(self, node: str, value: str | None, key: str = HEALTH) -> None:
        self._labelled.add((node, key))
        patch = {"metadata": {"labels": {key: value}}}
        await self.client.patch(NODES, None, node, patch, PatchType.MERGE)

    async def begin(self, body: JsonObject) -> Life:
        """Creates the AppWrapper, whose life is followed from its first moment."""
        life = await self.followed(body["metadata"]["name"])
        await self.client.create(APPWRAPPERS, NAMESPACE, body)
        return life

    async def followed(self, name: str) -> Life:
        """Follows the life of an AppWrapper that the caller is about to create."""
        life = await self._stack.enter_async_context(Life(self.client, NAMESPACE, name))
        self._stack.push_async_callback(self._end, life, name)
        return life

    async def runs(self, body: JsonObject) -> Life:
        """Creates it and waits until all of its pods run."""
        life = await self.begin(body)
        await life.until(lambda item: true_conditions(item) == RUNS, "all of its pods running")
        return life

    async def _end(self, life: Life, name: str) -> None:
        with suppress(NotFound):
            await self.client.delete(
                APPWRAPPERS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
            )
        await life.until_deleted()

    async def pods(self, life: Life) -> dict[str, str]:
        """Returns UID → node of its pods, live."""
        uid = life.events[0].object["metadata"]["uid"]
        found = await listed(self.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
        return {each["metadata"]["uid"]: each["spec"].get("nodeName", "") for each in found}

    async def node_of(self, life: Life) -> str:
        """Returns the node of its only pod."""
        (node,) = (await self.pods(life)).values()
        return node

    def value(self, name: str, /, **labels: str) -> float:
        """Returns a value of the controller's /metrics."""
        return self._words.sample(name, labels)

    async def shows(self, name: str, value: float, /, **labels: str) -> None:
        """Waits until the controller's /metrics show that value."""

        async def shown() -> float:
            try:
                return self.value(name, **labels)
            except OSError:  # it is being started
                return -1.0

        await comes_to(shown, value)

    async def put_back(self) -> None:
        try:
            await self._stack.aclose()
        finally:
            for node, key in self._labelled:
                await self.label(node, None, key)
            if self._labelled:  # else the controller may drive the next test's pods off them
                await self.shows(NO_EXECUTE, 0, resource=GPU)


@asynccontextmanager
async def gpu_nodes(cluster: LocalCluster) -> AsyncIterator[GpuNodes]:
    nodes = GpuNodes(cluster)
    try:
        yield nodes
    finally:
        await nodes.put_back()


async def typed(cluster: LocalCluster, commands: str, **environment: str) -> str:
    """Runs commands of a page in an admin's shell; returns their output. They must succeed in time.

    Without a limit, a command that hangs ends the whole run of tests, and the log does not name it.
    """
    path = f"{cluster.kubectl.parent}:{os.environ['PATH']}"
    variables = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PATH": path, **environment}
    script = "set -euo pipefail\n" + commands
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            code, output = await captured(("bash", "-c", script), environment=variables)
    except TimeoutError:
        raise AssertionError(f"after {_LONGEST_SECONDS:g} s it still runs: {commands}") from None
    assert code == 0, output
    return output


def gpu_job(
    name: str, pods: int = 1, gpus: int = 8, node: str = "", **simulation: str
) -> JsonObject:
    """Builds a Job whose pods run until deleted, one to a node, unless `simulation` differs."""
    body = job(name, pods, **(simulation or {"hang": "running"}))
    spec = body["spec"]["template"]["spec"]
    if gpus:
        spec["containers"][0]["resources"] = {"limits": {GPU: str(gpus)}}
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    return body


def gpu_appwrapper(
    name: str, pods: int = 1, gpus: int = 8, node: str = "", **annotations: str
) -> JsonObject:
    """Builds an AppWrapper of one such Job."""
    body = gpu_job(name, pods, gpus, node)
    return appwrapper(name, body, annotations={**AT_ONCE, **annotations})


def unhealthy(item: JsonObject) -> tuple[str, str, str]:
    """Returns status, reason and message of that condition."""
    conditions = item["status"]["conditions"]
    (found,) = (each for each in conditions if each["type"] == "Unhealthy")
    return found["status"], found["reason"], found["message"]


def says(reason: str) -> Callable[[JsonObject], bool]:
    """Matches a state in which Unhealthy is True for that reason."""
    return lambda item: "Unhealthy" in true_conditions(item) and unhealthy(item)[1] == reason


def since(life: Life, item: JsonObject) -> list[Any]:
    """Returns the states of the AppWrapper after that one."""
    return [each.object for each in life.events if version_of(each.object) > version_of(item)]
