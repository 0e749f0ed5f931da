"""Overwrites the statuses of running AppWrappers, as another client could."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import KubeClient, PatchType
from tests.support.builders.appwrappers import appwrapper, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.cluster.followed import followed
from tests.support.cluster.life import Life, listed
from tests.support.cluster.resources import JOBS
from tests.support.team import NAMESPACE

RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
LATE = "9999-12-31T23:59:59Z"
EARLY = "0001-01-01T00:00:00+01:00"
# Correct pod sets: Kueue reads these, too, and stops what does not fit its Workload.
POD_SETS = [{"path": "template.spec.template", "replicas": 2}]
ENTRY = {"name": "x", "kind": "Job", "apiVersion": "batch/v1", "podSets": POD_SETS}


def odd(kind: str, status: str = "Unknown", time: str = LATE) -> JsonObject:
    return {
        "type": kind,
        "status": status,
        "reason": "Odd",
        "message": "\u0001",
        "lastTransitionTime": time,
    }


def timer(**fields: Any) -> JsonObject:
    return {"began": EARLY, "phase": "Running", "attempt": 1, "resettingCount": 0, **fields}


async def spoil(life: Life, client: KubeClient, name: str, status: JsonObject) -> int:
    """Patches the status of a running AppWrapper; returns the version after that."""
    await life.until(lambda item: true_conditions(item) == RUNS, f"all pods of {name} ready")
    body = {"status": status}
    written = await client.patch(
        APPWRAPPERS, NAMESPACE, name, body, PatchType.MERGE, subresource="status"
    )
    return version_of(written)


def named(prefix: str, statuses: Iterable[Any]) -> dict[Any, str]:
    """Names the AppWrapper of each status; no other test may use the name.

    Kueue 0.16 identifies AppWrappers by their names, and may confuse two of the same name.
    """
    return {status: f"{prefix}-{number}" for number, status in enumerate(statuses)}


@asynccontextmanager
async def all_spoilt(
    client: KubeClient,
    names: Mapping[Any, str],
    statuses: Mapping[Any, JsonObject],
    **annotations: str,
) -> AsyncGenerator[dict[Any, tuple[Life, int]], None]:
    """Creates and spoils one AppWrapper for each, at once; yields its life and the version then."""
    async with AsyncExitStack() as stack:
        lives = {}
        for key, name in names.items():
            body = appwrapper(name, job(name, hang="running"), annotations=annotations)
            lives[key] = await stack.enter_async_context(followed(client, NAMESPACE, body))
        yield {
            key: (life, await spoil(life, client, names[key], statuses[key]))
            for key, life in lives.items()
        }
    for name in names.values():
        await nothing_left(client, name)


async def nothing_left(client: KubeClient, name: str) -> None:
    label = f"workload.codeflare.dev/appwrapper={name}"
    assert await listed(client, JOBS, NAMESPACE, label) == []
    assert await listed(client, PODS, NAMESPACE, label) == []
