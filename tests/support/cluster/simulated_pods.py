"""Creates pods for the local cluster's simulated kubelets, and records their lives."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from shared.api.objects import NAMESPACES, PODS, JsonObject, JsonValue
from shared.kube.client import KubeClient, Propagation, WatchEventType
from shared.process.clock import SystemClock
from tests.support.builders.pods import SIMULATION
from tests.support.cluster.changes import changes
from tests.support.cluster.resources import SERVICE_ACCOUNTS
from tests.support.patience import PATIENCE_SECONDS

TWO_CONTAINERS = ({"name": "main", "image": "trainer:1"}, {"name": "logger", "image": "logs:2"})
INIT = ({"name": "prepare", "image": "prepare:3"},)
RUNNING_STATE = {"running": {"startedAt": "TIME"}}
_CLOCK = SystemClock()
_TIMES = frozenset({"startedAt", "finishedAt", "lastTransitionTime", "startTime"})
_CONTAINER_ID = re.compile(r"containerd://[0-9a-f]{64}")
_IMAGE_ID = re.compile(r"\S+@sha256:[0-9a-f]{64}")


@dataclass(slots=True)
class Life:
    """The states of one pod that a watch saw, and when it saw each."""

    name: str
    states: list[JsonObject] = field(default_factory=list)
    seen_at: list[datetime] = field(default_factory=list)
    deleted: bool = False

    @property
    def last(self) -> JsonObject:
        """Returns the newest state."""
        return self.states[-1]

    @property
    def status(self) -> JsonObject:
        """Returns the newest state's status."""
        status: JsonObject = self.last["status"]
        return status

    def first_seen(self, predicate: Callable[[JsonObject], bool]) -> datetime:
        """Returns when the first state was seen for which `predicate` holds."""
        return next(
            at for state, at in zip(self.states, self.seen_at, strict=True) if predicate(state)
        )


async def followed(client: KubeClient, state: JsonObject, until: Callable[[Life], bool]) -> Life:
    """Watches a pod from this state on until `until` holds. TimeoutError contains the last
    state.
    """
    namespace, name = state["metadata"]["namespace"], state["metadata"]["name"]
    life = Life(name, [state], [_CLOCK.now()])
    version = state["metadata"]["resourceVersion"]
    watch = changes(client, PODS, namespace, resource_version=version)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), aclosing(watch) as events:
            async for event in events:
                if event.object["metadata"]["name"] != name:
                    continue
                life.states.append(event.object)
                life.seen_at.append(_CLOCK.now())
                life.deleted = event.type is WatchEventType.DELETED
                if until(life):
                    return life
    except TimeoutError as late:
        raise TimeoutError(f"pod {name} came only to {life.status}") from late
    raise AssertionError(f"the watch ended early, pod {name} came only to {life.status}")


async def lived(client: KubeClient, document: JsonObject, until: Callable[[Life], bool]) -> Life:
    """Creates the pod and follows it until `until` holds."""
    created = await client.create(PODS, document["metadata"]["namespace"], document)
    return await followed(client, created, until)


async def died(client: KubeClient, document: JsonObject, *, grace: int | None) -> Life:
    """Creates the pod, deletes it once it runs, and follows it from then on until it is gone."""
    life = await lived(client, document, in_phase("Running"))
    metadata = life.last["metadata"]
    await client.delete(
        PODS,
        metadata["namespace"],
        metadata["name"],
        uid=metadata["uid"],
        propagation=Propagation.BACKGROUND,
        grace_period_seconds=grace,
    )
    return await followed(client, life.last, lambda seen: seen.deleted)


def in_phase(phase: str) -> Callable[[Life], bool]:
    """Matches a pod in this phase."""
    return lambda life: life.status.get("phase") == phase


def masked(value: JsonValue) -> JsonValue:
    """Returns the value with times, container and image ids replaced by TIME, ID and IMAGE-ID.

    Texts of another form stay, so that a comparison shows them.
    """
    if isinstance(value, list):
        return [masked(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _masked_field(key, each) for key, each in value.items()}


def _masked_field(key: str, value: JsonValue) -> JsonValue:
    if key in _TIMES and isinstance(value, str):
        time_of(value)
        return "TIME"
    if key == "containerID" and _CONTAINER_ID.fullmatch(value):
        return "ID"
    if key == "imageID" and _IMAGE_ID.fullmatch(value):
        return "IMAGE-ID"
    return masked(value)


def time_of(text: str) -> datetime:
    """Parses a time of the API. Raises ValueError for anything else."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def ran_for(terminated: JsonObject) -> timedelta:
    """Returns how long a terminated container ran, to the second."""
    return time_of(terminated["finishedAt"]) - time_of(terminated["startedAt"])


def is_planned(state: JsonObject) -> bool:
    """True if the pod's next step has a time."""
    return SIMULATION + "next-step-at" in state["metadata"].get("annotations", {})


def conditions(status: JsonObject) -> dict[str, tuple[str, str | None]]:
    """Returns condition type → status and reason."""
    return {one["type"]: (one["status"], one.get("reason")) for one in status["conditions"]}


async def service_account_exists(client: KubeClient, namespace: str) -> None:
    """Returns once the namespace's default ServiceAccount exists: pods need it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async for page in client.pages(SERVICE_ACCOUNTS, namespace):
                if page.items:
                    return
            await asyncio.sleep(0.05)


@asynccontextmanager
async def namespace(client: KubeClient, name: str) -> AsyncIterator[None]:
    """Yields a namespace in which pods can be created; deletes it in the end."""
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    created = await client.create(NAMESPACES, None, document)
    await service_account_exists(client, name)
    yield
    uid = created["metadata"]["uid"]
    await client.delete(NAMESPACES, None, name, uid=uid, propagation=Propagation.BACKGROUND)


def container(name: str, image: str, state: JsonObject, **fields: object) -> JsonObject:
    """Builds a masked container status as the API server shows it."""
    return {
        "name": name,
        "image": image,
        "imageID": "IMAGE-ID",
        "containerID": "ID",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "lastState": {},
        "state": state,
    } | fields


def terminated(code: int, reason: str, **fields: object) -> JsonObject:
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "startedAt": "TIME",
            "finishedAt": "TIME",
            "containerID": "ID",
        }
        | fields
    }
