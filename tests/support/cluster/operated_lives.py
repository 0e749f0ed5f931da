"""Shared steps in the lives of AppWrappers around a Kind with a real operator."""

from dataclasses import dataclass

import yaml

from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import PODS, JsonObject, Resource
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.cluster.failing_lives import ended
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.life_record import (
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    Condition,
    condition,
    revisions,
    steps,
)
from tests.support.manifests import SAMPLES
from tests.support.patience import comes_to

HELD = (QUOTA, DEPLOYED)
RUNS = {QUOTA, DEPLOYED, READY}
RUNNING = ["", "Suspended", "Resuming", "Running"]


def kind_sample(file: str) -> JsonObject:
    """Reads a sample of samples/kinds whose pods fit in the quota of these lives."""
    text = (SAMPLES / "kinds" / file).read_text()
    body: JsonObject = yaml.safe_load(text.replace("cpu: 1\n", "cpu: 100m\n"))
    return body


@dataclass(frozen=True)
class LifeState:
    """The whole state of one AppWrapper: its status, Kueue's Workload, its pods and objects."""

    phase: str
    conditions: frozenset[str]
    workload: frozenset[str]
    pods: tuple[str, ...]
    components: tuple[str, ...]


async def world(lives: Lives, life: Life, resource: Resource) -> LifeState:
    """Reads it once; of Kueue's conditions only those about the quota."""
    item = life.events[-1].object
    reported = await lives.kueue_says(life)
    return LifeState(
        phase(item),
        frozenset(true_conditions(item)),
        frozenset(reported & {"QuotaReserved", "Admitted", "Finished"}),
        tuple(await lives.names(PODS, life)),
        tuple(await lives.names(resource, life)),
    )


async def becomes(lives: Lives, life: Life, resource: Resource, expected: LifeState) -> None:
    """Waits until the world is as expected."""
    await comes_to(lambda: world(lives, life, resource), expected)


async def ready(life: Life, *, after: int = 0) -> JsonObject:
    """Returns the first state above that resourceVersion in which all pods are ready."""
    return await life.until(
        lambda item: version_of(item) > after and true_conditions(item) == RUNS, "all pods ready"
    )


async def leftovers(lives: Lives, name: str, *resources: Resource) -> list[str]:
    """Returns the namespace's objects whose names begin with `name`, as `Kind name`."""
    found: list[str] = []
    for resource in resources:
        items = await listed(lives.client, resource, NAMESPACE)
        names = sorted(each["metadata"]["name"] for each in items)
        found += [f"{resource.kind} {each}" for each in names if each.startswith(name)]
    return found


def uids_by_attempt(life: Life) -> dict[str, set[str]]:
    """Returns attempt -> the UIDs of its pods."""
    found: dict[str, set[str]] = {}
    for event in life.pod_events:
        metadata = event.object["metadata"]
        found.setdefault(metadata["labels"][LABEL_ATTEMPT], set()).add(metadata["uid"])
    return found


async def fails_as_deleted(life: Life, component: str) -> JsonObject:
    """Waits until it fails at once, despite its retries, and all is deleted. Returns the last
    state.
    """
    failed = await life.until_phase("Failed")
    message = f"deleted by another client: {component}"
    assert condition(failed, UNHEALTHY) == Condition("True", "MissingComponent", message)
    assert true_conditions(failed) >= {*HELD}
    assert "resettingCount" not in failed["status"]
    last = await ended(life, after=failed)
    assert steps(life, *HELD)[3:] == [("Running", *HELD), ("Failed", *HELD), ("Failed",)]
    return last


async def preempted_and_back(lives: Lives, life: Life, resource: Resource) -> None:
    """Lets a more urgent Job take the quota of a running AppWrapper, and end."""
    held = await ready(life)
    name = held["metadata"]["name"]
    before = await world(lives, life, resource)
    urgent = requesting("1500m", job(f"{name}-urgent", 1, run_for="500ms"), "high-priority")
    other = await lives.begin(appwrapper(f"{name}-urgent", urgent))
    await other.until_phase("Succeeded")
    away = await life.until_phase("Suspended", after=version_of(held))
    assert away["spec"]["suspend"] is True
    assert true_conditions(away) == set()
    assert version_of(away) < revisions(other, ["Resuming"])["Resuming"]
    back = await ready(life, after=version_of(away))
    assert (back["status"]["attempt"], back["status"].get("resettingCount", 0)) == (2, 0)
    assert steps(life, QUOTA) == [
        ("",),
        ("Suspended",),
        ("Resuming", QUOTA),
        ("Running", QUOTA),
        ("Suspending", QUOTA),
        ("Suspended",),
        ("Resuming", QUOTA),
        ("Running", QUOTA),
    ]
    after = await world(lives, life, resource)
    assert len(after.pods) == len(before.pods)
    assert (after.phase, after.conditions, after.workload, after.components) == (
        before.phase,
        before.conditions,
        before.workload,
        before.components,
    )
    await life.check_the_promise_to_kueue()  # it has seen all pods by then
    attempts = uids_by_attempt(life)
    assert {*attempts} == {"1", "2"}
    assert not attempts["1"] & attempts["2"]


def third(template: JsonObject) -> JsonObject:
    """Changes a pod template: low priority, slow to end; three such pods use all quota."""
    spec = template["spec"]
    spec["priorityClassName"] = "low-priority"
    spec["terminationGracePeriodSeconds"] = 30
    spec["containers"][0]["resources"] = {"requests": {"cpu": "600m"}}
    return template
