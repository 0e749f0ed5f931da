"""Suspended in every phase that holds quota, by the real Kueue that needs it for somebody else."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource
from shared.kube.client import PatchType, Propagation
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.lives import NAMESPACE, Lives, config_map, requesting, slow_to_go
from tests.support.life_record import DEPLOYED, QUOTA, READY, UNHEALTHY, condition, revisions, steps
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


async def is_reset(life: Life) -> JsonObject:
    """A pod is slow to go."""
    return await life.until(
        lambda item: phase(item) == "Resetting" and DEPLOYED in true_conditions(item), "Resetting"
    )


async def pauses(life: Life) -> JsonObject:
    """All is gone, and the next attempt has time."""
    return await life.until(
        lambda item: phase(item) == "Resetting" and DEPLOYED not in true_conditions(item),
        "the retry pause",
    )


@dataclass(frozen=True)
class Victim:
    """An AppWrapper that holds its quota in some phase, and how it got there."""

    name: str
    components: tuple[JsonObject, ...]
    until: Callable[[Life], Awaitable[JsonObject]]
    path: tuple[str, ...]  # the phases until then
    annotations: dict[str, str] = field(default_factory=dict)
    forbidden: str = "count/secrets"  # nobody makes any here
    retries: int = 0


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
    Victim(
        "victim-resetting",
        (
            big(failing("victim-resetting"), "low-priority"),
            requesting(
                "100m", slow_to_go(pod("victim-slow", hang="running", ignore_deletion_for="3s"))
            ),
        ),
        is_reset,
        ("Resuming", "Running", "Resetting"),
        AT_ONCE | {"retryPausePeriodDuration": LONG},
        retries=1,
    ),
    Victim(
        "victim-pausing",
        (big(failing("victim-pausing"), "low-priority"),),
        pauses,
        ("Resuming", "Running", "Resetting"),
        AT_ONCE | {"retryPausePeriodDuration": LONG},
        retries=1,
    ),
]


@pytest.mark.parametrize("victim", VICTIMS, ids=lambda victim: victim.name)
async def test_a_preemption_is_respected_and_the_next_attempt_comes_through(
    lives: Lives, victim: Victim
) -> None:
    """The other one starts only once the quota was given back, and then the first one goes on."""
    body = appwrapper(victim.name, *victim.components, annotations=victim.annotations)
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
    assert int(away["status"].get("resettingCount", 0)) == victim.retries
    back = await life.until(
        lambda item: version_of(item) > version_of(away) and READY in true_conditions(item),
        "all pods ready again",
    )
    assert back["status"]["attempt"] == held["status"]["attempt"] + 1
    assert int(back["status"].get("resettingCount", 0)) == victim.retries
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


async def test_the_quota_of_a_retry_pause_goes_to_nobody_of_the_same_priority(lives: Lives) -> None:
    """Somebody waits for it all the while."""
    pause = AT_ONCE | {"retryPausePeriodDuration": LONG}
    first = await lives.begin(
        appwrapper("first", big(failing("first"), "default-priority"), annotations=pause)
    )
    await pauses(first)
    second = await lives.begin(
        appwrapper("second", big(job("second", 1, run_for="200ms"), "default-priority"))
    )
    await second.until_phase("Suspended")

    async def judged() -> bool:
        """Kueue has looked for a place, and found none."""
        conditions = (await lives.workload(second)).get("status", {}).get("conditions") or ()
        return any((each["type"], each["status"]) == (QUOTA, "False") for each in conditions)

    await comes_to(judged, True)
    await lives.annotate("first", retryPausePeriodDuration="0s")
    await second.until_phase("Succeeded")
    [ended] = revisions(first, ["Succeeded"]).values()
    assert ended < revisions(second, ["Resuming"])["Resuming"]
    assert revisions(second, ["Suspended"])["Suspended"] < ended
    assert steps(first, QUOTA)[3:] == [
        ("Running", QUOTA),
        ("Resetting", QUOTA),
        ("Resuming", QUOTA),
        ("Running", QUOTA),
        ("Succeeded",),
    ]


async def test_a_preemption_ends_the_time_that_is_kept_for_debugging(lives: Lives) -> None:
    kept = AT_ONCE | {"retryLimit": "0", "deletionOnFailureGracePeriodDuration": LONG}
    body = appwrapper("debugged", big(failing("debugged"), "low-priority"), annotations=kept)
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert true_conditions(failed) >= {QUOTA, DEPLOYED, UNHEALTHY}
    assert await lives.kueue_says(life) >= {"QuotaReserved", "Admitted"}
    assert "Finished" not in await lives.kueue_says(life)
    other = await lives.begin(
        appwrapper("urgent", big(job("urgent", 1, run_for="300ms"), "high-priority"))
    )
    await other.until_phase("Succeeded")
    last = await life.until(
        lambda item: phase(item) == "Failed" and not true_conditions(item) & {QUOTA, DEPLOYED},
        "everything given back",
    )
    assert last["spec"]["suspend"] is True
    assert version_of(last) < revisions(other, ["Resuming"])["Resuming"]
    assert not await exists(lives.client, PODS, NAMESPACE, "debugged")

    async def finished() -> bool:
        return "Finished" in await lives.kueue_says(life)

    await comes_to(finished, True)
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Failed"]


async def test_a_user_who_suspends_it_gets_everything_deleted_and_the_retries_kept(
    lives: Lives,
) -> None:
    """Not by Kueue's hand but by a person's; Kueue starts it again, as long as it has quota."""
    body = appwrapper("by-hand", failing("by-hand"), annotations=AT_ONCE)
    body["spec"]["components"].append({"template": job("by-hand", 1, hang="running")})
    life = await lives.begin(body)
    ready = await life.until(
        lambda item: READY in true_conditions(item) and item["status"]["attempt"] == 2,
        "the second attempt",
    )

    async def suspended() -> bool:
        """Kueue may start it again before anybody has seen it: then it goes on as it was."""
        body = {"spec": {"suspend": True}}
        await lives.client.patch(APPWRAPPERS, NAMESPACE, "by-hand", body, PatchType.MERGE)
        await asyncio.sleep(0.2)
        return "Suspending" in life.phases()

    await comes_to(suspended, True)
    away = await life.until_phase("Suspended", after=version_of(ready))
    assert true_conditions(away) == set()
    back = await life.until(
        lambda item: version_of(item) > version_of(away) and READY in true_conditions(item),
        "all pods ready again",
    )
    assert (back["status"]["resettingCount"], back["status"]["attempt"]) == (1, 3)


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


async def test_it_comes_back_where_kueue_puts_it_now_with_its_retries_kept(
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
