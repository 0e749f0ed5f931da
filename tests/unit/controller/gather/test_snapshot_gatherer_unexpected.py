"""Objects that the phase and attempt cannot have are found in the caches, without a request."""

from dataclasses import replace
from typing import Any

import pytest

from controller.facts.deployed import DeployedObject
from controller.facts.pods import Pod, project_pod
from controller.facts.unexpected_objects import Owned
from controller.phases.success_and_stragglers import has_succeeded
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.kinds.job import JOBS
from shared.kube.client import NotFound
from tests.support.builders.gathering import (
    COMPLETE,
    Gathering,
    appwrapper,
    facts,
    raw_pod,
)
from tests.support.fakes.fake_kube import listed

ENDED = tuple(project_pod(raw_pod(name, "Succeeded", "2")) for name in ("a", "b"))


def late_job(attempt: str = "1", **changes: Any) -> Owned:
    found = replace(facts(attempt=attempt), name="late", uid="j0", component=0, **changes)
    return JOBS, found


def late_pod(attempt: str = "1", **changes: Any) -> Pod:
    found = project_pod(raw_pod("late", "Running", attempt))
    return replace(found, owner_uid="", **changes)


def suspended(*, attempt: int = 1) -> dict[str, Any]:
    return appwrapper("Suspended", attempt=attempt, created=False, spec={"suspend": True})


def named(objects: tuple[DeployedObject, ...]) -> list[tuple[str, str]]:
    return [(each.resource.kind, each.name) for each in objects]


async def test_a_suspended_appwrapper_without_objects_asks_nothing() -> None:
    bench = Gathering(suspended())
    observation = await bench.observe()
    assert (observation.unexpected, observation.look_again) == ((), None)
    assert bench.kube.calls == []


async def test_a_pod_and_a_component_of_a_suspended_appwrapper_are_found_in_the_caches() -> None:
    bench = Gathering(suspended(), pods=(late_pod(component=1),))
    bench.watches.others.append(late_job())
    observation = await bench.observe()
    assert named(observation.unexpected) == [("Job", "late"), ("Pod", "late")]
    assert (observation.snapshot.unexpected_due, observation.snapshot.unexpected_alive) == (
        True,
        True,
    )
    assert observation.look_again is not None
    assert bench.kube.calls == []


async def test_an_appwrapper_that_never_started_has_no_unexpected_objects() -> None:
    bench = Gathering(suspended(attempt=0), pods=(late_pod(),))
    assert (await bench.observe()).unexpected == ()


async def test_a_pod_of_an_earlier_attempt_blocks_success() -> None:
    live = listed(9, *[raw_pod(pod.name, "Succeeded", "2") for pod in ENDED])
    item = appwrapper("Running", CONDITION_QUOTA_RESERVED, attempt=2)
    known = facts(attempt="2", **COMPLETE)
    bench = Gathering(item, known=known, pods=(*ENDED, late_pod()), lists=[[live]])
    observation = await bench.observe()
    assert not has_succeeded(observation.snapshot)
    assert named(observation.unexpected) == [("Pod", "late")]
    assert bench.kube.calls == []
    bench.cached_pods.value = ENDED
    assert has_succeeded((await bench.observe()).snapshot)


async def test_a_pod_of_an_earlier_attempt_that_only_the_live_list_shows_prevents_success() -> None:
    late = raw_pod("late", "Running")
    late["metadata"]["ownerReferences"] = []
    live = listed(9, *[raw_pod(pod.name, "Succeeded", "2") for pod in ENDED], late)
    known = facts(attempt="2", **COMPLETE)
    bench = Gathering(appwrapper("Running", attempt=2), known=known, pods=ENDED, lists=[[live]])
    observation = await bench.observe()
    assert not has_succeeded(observation.snapshot)
    assert named(observation.unexpected) == [("Pod", "late")]


async def test_a_component_of_an_earlier_attempt_delays_the_proof_of_a_deletion() -> None:
    bench = Gathering(
        appwrapper("Suspending", attempt=2), lists=[[listed(9)]], get=[NotFound(404, "", "")]
    )
    bench.watches.others.append(late_job())
    observation = await bench.observe()
    assert not observation.snapshot.gone
    assert named(observation.deployed) == named(observation.unexpected) == [("Job", "late")]


async def test_objects_that_were_proved_gone_are_not_unexpected_while_a_cache_shows_them() -> None:
    pod = late_pod()
    gone = [NotFound(404, "", "")]
    bench = Gathering(
        appwrapper("Suspending", created=False), pods=(pod,), lists=[[listed(9)]], get=gone
    )
    bench.deletions.of("u1").complete = 1
    assert (await bench.observe()).snapshot.gone
    assert bench.deletions.known("u1").absent == {pod.uid}
    later = Gathering(suspended(), pods=(pod,))
    later.deletions.of("u1").complete = 1
    later.deletions.end("u1", [pod.uid])
    assert (await later.observe()).unexpected == ()


@pytest.mark.parametrize("attempt", ["2", "3"])
async def test_the_pods_of_this_and_of_a_later_attempt_are_expected(attempt: str) -> None:
    bench = Gathering(appwrapper("Running", attempt=2), known=facts(attempt="2"))
    bench.cached_pods.value = (late_pod(attempt),)
    assert (await bench.observe()).unexpected == ()
