"""Suspended while it runs or resumes, by the real Kueue that needs its quota for another one.

The other phases: tests/simulation/lives/test_suspension.py.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from shared.api.objects import PODS, JsonObject, Resource
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives, config_map, requesting
from tests.support.life_record import DEPLOYED, QUOTA, READY, condition, revisions, steps
from tests.support.patience import comes_to

pytestmark = pytest.mark.kueue

LONG = "1h"
CPU = "1500m"  # of the team's 2: one at a time


def big(body: JsonObject, priority: str) -> JsonObject:
    """Leaves no room for another one."""
    return requesting(CPU, body, priority)


async def runs(life: Life) -> JsonObject:
    return await life.until(lambda item: READY in true_conditions(item), "all pods ready")


async def resumes(life: Life) -> JsonObject:
    """Its second component cannot be created."""
    return await life.until(
        lambda item: phase(item) == "Resuming" and "403" in condition(item, DEPLOYED).message,
        "a component that is refused",
    )


@dataclass(frozen=True)
class Victim:
    """An AppWrapper that holds its quota in some phase, and how it got there."""

    name: str
    components: tuple[JsonObject, ...]
    until: Callable[[Life], Awaitable[JsonObject]]
    path: tuple[str, ...]  # the phases until then
    forbidden: str = "count/secrets"  # nobody makes any here


def failing(name: str, **simulation: str) -> JsonObject:
    return pod(name, **{"run_for": "200ms", "exit_code": "1", "fail_attempts": "1"} | simulation)


VICTIMS = [
    Victim(
        "victim-running",
        (big(job("victim-running", 1, hang="running"), "low-priority"),),
        runs,
        ("Resuming", "Running"),
    ),
    Victim(
        "victim-resuming",
        (
            big(pod("victim-resuming", hang="running"), "low-priority"),
            config_map("victim-resuming"),
        ),
        resumes,
        ("Resuming",),
        forbidden="count/configmaps",
    ),
]


@pytest.mark.parametrize("victim", VICTIMS, ids=lambda victim: victim.name)
async def test_a_preemption_is_respected_and_the_next_attempt_comes_through(
    lives: Lives, victim: Victim
) -> None:
    """The other one starts only once the quota was given back, and then the first one goes on."""
    patient = {"admissionGracePeriodDuration": LONG}
    body = appwrapper(victim.name, *victim.components, annotations=patient)
    urgent = big(job("urgent", 1, run_for="500ms"), "high-priority")
    async with lives.forbidden(victim.forbidden):
        life = await lives.begin(body)
        held = await victim.until(life)
        assert life.phases() == ["", "Suspended", *victim.path]
        other = await lives.begin(appwrapper("urgent", urgent))
        await other.until_phase("Succeeded")
    away = await life.until_phase("Suspended", after=version_of(held))
    assert away["spec"]["suspend"] is True
    assert true_conditions(away) == set()
    assert version_of(away) < revisions(other, ["Resuming"])["Resuming"]
    assert "resettingCount" not in away["status"]
    back = await life.until(
        lambda item: version_of(item) > version_of(away) and READY in true_conditions(item),
        "all pods ready again",
    )
    assert back["status"]["attempt"] == held["status"]["attempt"] + 1
    assert "resettingCount" not in back["status"]
    went = [step for step in steps(life, QUOTA) if step[0] not in (victim.path[-1], "Succeeded")]
    assert (
        went
        == [  # the last attempt may have ended already
            ("",),
            ("Suspended",),
            *((each, QUOTA) for each in victim.path[:-1]),
            ("Suspending", QUOTA),
            ("Suspended",),
            *(((each, QUOTA)) for each in ("Resuming", "Running") if each != victim.path[-1]),
        ]
    )


KUEUE = "kueue.x-k8s.io/v1beta2"
FLAVORS = {"lives-one": "gpu-node-1", "lives-two": "gpu-node-2"}
CLUSTER_SCOPED = {
    kind: Resource("kueue.x-k8s.io", "v1beta2", plural, kind, namespaced=False)
    for kind, plural in (("ClusterQueue", "clusterqueues"), ("ResourceFlavor", "resourceflavors"))
}


def queue_of_two_flavors(**cpus: int) -> list[JsonObject]:
    """Each flavor is one node; `cpus` is how much of each there is."""
    flavors = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": cpus[name.split("-")[1]]}]}
        for name in FLAVORS
    ]
    group = {"coveredResources": ["cpu"], "flavors": flavors}
    return [
        *(
            {
                "apiVersion": KUEUE,
                "kind": "ResourceFlavor",
                "metadata": {"name": name},
                "spec": {"nodeLabels": {"kubernetes.io/hostname": node}},
            }
            for name, node in FLAVORS.items()
        ),
        {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": "two-flavors"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "two-flavors", "namespace": NAMESPACE},
            "spec": {"clusterQueue": "two-flavors"},
        },
    ]


@pytest.fixture
async def two_flavors(lives: Lives) -> AsyncIterator[Callable[..., Awaitable[None]]]:
    """Says how many CPUs each of two flavors has, in a queue of that name."""

    async def offer(**cpus: int) -> None:
        await lives.cluster.apply(queue_of_two_flavors(**cpus))
        await comes_to(is_known, True)

    async def is_known() -> bool:
        """True once Kueue admits by this quota."""
        queue = await lives.client.get(CLUSTER_SCOPED["ClusterQueue"], None, "two-flavors")
        conditions = (queue.get("status") or {}).get("conditions") or ()
        seen = {each["type"]: each.get("observedGeneration") for each in conditions}
        return bool(seen.get("Active") == queue["metadata"]["generation"])

    await offer(one=1, two=1)
    yield offer
    # They go once nothing holds their quota any more.
    for document in queue_of_two_flavors(one=0, two=0):
        if resource := CLUSTER_SCOPED.get(document["kind"]):
            name = document["metadata"]["name"]
            await lives.client.delete(
                resource, None, name, uid=None, propagation=Propagation.BACKGROUND
            )


def placed_by_kueue(item: JsonObject) -> list[JsonObject]:
    return [each["podSetInfos"][0]["nodeSelector"] for each in item["spec"]["components"]]


async def test_it_runs_again_where_kueue_admits_it_with_its_retries_kept(
    lives: Lives, two_flavors: Callable[..., Awaitable[None]]
) -> None:
    body = appwrapper(
        "moved", failing("moved-sick"), job("moved", 1, hang="running"), annotations=AT_ONCE
    )
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "two-flavors"}
    life = await lives.begin(body)
    ready = await life.until(
        lambda item: READY in true_conditions(item) and item["status"]["attempt"] == 2,
        "the second attempt",
    )
    assert placed_by_kueue(ready) == [{"kubernetes.io/hostname": "gpu-node-1"}] * 2
    assert await nodes(lives, life) == {"gpu-node-1"}

    await lives.set_active(life, active=False)
    away = await life.until_phase("Suspended", after=version_of(ready))
    assert not any("podSetInfos" in each for each in away["spec"]["components"])
    await two_flavors(one=0, two=1)
    await lives.set_active(life, active=True)
    back = await life.until(
        lambda item: version_of(item) > version_of(away) and READY in true_conditions(item),
        "all pods ready again",
    )
    assert placed_by_kueue(back) == [{"kubernetes.io/hostname": "gpu-node-2"}] * 2
    assert await nodes(lives, life) == {"gpu-node-2"}
    assert (back["status"]["resettingCount"], back["status"]["attempt"]) == (1, 3)


async def nodes(lives: Lives, life: Life) -> set[str]:
    """Where its pods are."""
    uid = life.events[0].object["metadata"]["uid"]
    pods = await listed(lives.client, PODS, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
    return {each["spec"]["nodeName"] for each in pods}
