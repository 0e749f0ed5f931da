"""The observer beside these tests finds a promise to Kueue that is broken, on a real API server."""

from collections.abc import AsyncIterator

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource
from shared.kube.client import KubeClient, PatchType, Propagation
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.life import listed
from tests.support.cluster.resources import JOBS
from tests.support.observer.observer import Observer
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

NAME = "observed"
HELD = ("QuotaReserved", "ResourcesDeployed")
PREFIX = "workload.codeflare.dev/"


class Careless:
    """Another operator, which does what ours must not."""

    def __init__(self, client: KubeClient, uid: str) -> None:
        self._client = client
        self.uid = uid

    async def says(self, phase: str, *true: str) -> str:
        """Writes the status; its revision."""
        conditions = [
            {
                "type": each,
                "status": str(each in true),
                "reason": "Careless",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for each in HELD
        ]
        written = await self._client.patch(
            APPWRAPPERS,
            NAMESPACE,
            NAME,
            {"status": {"phase": phase, "conditions": conditions}},
            PatchType.MERGE,
            subresource="status",
        )
        return str(written["metadata"]["resourceVersion"])

    async def makes(self, resource: Resource, body: JsonObject) -> str:
        """Creates it as a component of the first attempt; its revision."""
        body["metadata"] |= {
            "labels": {
                PREFIX + "uid": self.uid,
                PREFIX + "attempt": "1",
                PREFIX + "component": "0",
            },
            "ownerReferences": [
                {
                    "apiVersion": "workload.codeflare.dev/v1beta2",
                    "kind": "AppWrapper",
                    "name": NAME,
                    "uid": self.uid,
                    "controller": True,
                }
            ],
        }
        created = await self._client.create(resource, NAMESPACE, body)
        return str(created["metadata"]["resourceVersion"])

    async def until_it_runs(self, name: str) -> None:
        async def phase() -> str:
            item = await self._client.get(PODS, NAMESPACE, name)
            return str(item["status"].get("phase"))

        await comes_to(phase, "Running")

    async def pods(self) -> list[str]:
        selector = f"{PREFIX}uid={self.uid}"
        items = await listed(self._client, PODS, NAMESPACE, selector)
        return [each["metadata"]["name"] for each in items]

    async def deletes(self, resource: Resource, name: str) -> None:
        await self._client.delete(
            resource, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
        )


@pytest.fixture
async def careless(cluster: RunningCluster, observer: Observer) -> AsyncIterator[Careless]:
    """Its AppWrapper is managed by nobody whom we know. What it breaks is forgiven in the end."""
    body = appwrapper(NAME, job("never-made", run_for="1s"))
    body["spec"]["managedBy"] = "example.com/careless"
    created = await cluster.client.create(APPWRAPPERS, NAMESPACE, body)
    one = Careless(cluster.client, created["metadata"]["uid"])
    yield one
    await one.deletes(APPWRAPPERS, NAME)
    await comes_to(one.pods, [])  # the next test makes a pod of the same name
    observer.violations_of(NAME, NAMESPACE)


def broken(observer: Observer) -> list[tuple[str, str]]:
    """Revision and text of what the observer has found since the last time."""
    return [(str(each.revision), each.broken) for each in observer.violations_of(NAME, NAMESPACE)]


async def test_a_release_before_the_pods_are_gone_is_found(
    careless: Careless, observer: Observer
) -> None:
    await careless.says("Suspended")
    await careless.says("Resuming", *HELD)
    await careless.makes(PODS, pod("observed-pod", hang="running"))
    await careless.says("Running", *HELD)
    await careless.until_it_runs("observed-pod")
    assert broken(observer) == []

    early = await careless.says("Running", "QuotaReserved")
    assert broken(observer) == [
        (early, "ResourcesDeployed is not True in Running, while pods exist: observed-pod Running")
    ]
    await careless.says("Suspending", *HELD)
    late = await careless.says("Suspended")
    assert broken(observer) == [
        (
            late,
            "ResourcesDeployed is not True in Suspended, while pods exist: observed-pod Running",
        ),
        (late, "QuotaReserved is not True in Suspended, while pods run: observed-pod Running"),
    ]
    [made] = [each for each in observer.story_of(NAMESPACE, NAME).splitlines() if "made" in each]
    assert made.endswith("made pods/observed-pod, attempt 1[0]")


async def test_a_release_just_after_is_none(careless: Careless, observer: Observer) -> None:
    await careless.says("Suspended")
    await careless.says("Resuming", *HELD)
    await careless.makes(PODS, pod("observed-pod", hang="running"))
    await careless.says("Running", *HELD)
    await careless.until_it_runs("observed-pod")
    await careless.says("Suspending", *HELD)
    await careless.deletes(PODS, "observed-pod")

    await comes_to(careless.pods, [])
    await careless.says("Suspended")
    assert broken(observer) == []


async def test_a_pod_that_comes_after_the_release_is_found(
    careless: Careless, observer: Observer
) -> None:
    await careless.says("Suspended")
    made = await careless.makes(PODS, pod("observed-pod", hang="pending"))
    assert broken(observer) == [
        (
            made,
            "ResourcesDeployed is not True in Suspended, while pods exist: observed-pod Pending",
        ),
        (made, "QuotaReserved is not True in Suspended, while pods run: observed-pod Pending"),
    ]


async def test_two_components_of_one_index_are_found(
    careless: Careless, observer: Observer
) -> None:
    await careless.says("Suspended")
    for name in ("observed-1", "observed-2"):
        body = job(name, run_for="1s")
        body["spec"]["suspend"] = True
        revision = await careless.makes(JOBS, body)
    # Components are watched beside; nothing holds a test up until they were told of.
    found: list[tuple[str, str]] = []

    async def any_found() -> bool:
        found.extend(broken(observer))
        return bool(found)

    await comes_to(any_found, True)
    assert found == [
        (revision, "attempt 1 made component 0 2 times: ['jobs/observed-1', 'jobs/observed-2']")
    ]


async def test_an_edge_outside_the_table_is_found(careless: Careless, observer: Observer) -> None:
    await careless.says("Suspended")
    wrong = await careless.says("Running", *HELD)
    assert broken(observer) == [(wrong, "went from Suspended to Running: no such edge")]
