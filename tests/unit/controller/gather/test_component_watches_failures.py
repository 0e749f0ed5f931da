"""Failed pods that are gone before anybody looked are evidence still (case 23)."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from controller.facts.pods import Pod, project_pod
from controller.gather.component_caches import ComponentCaches
from controller.gather.component_watches import ComponentWatches
from controller.memory.memory import Memory
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.snapshot import Suspect
from shared.kube.discovery import Discovery
from shared.kube.object_cache import Change
from tests.support.builders.gathering import (
    KEY,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    raw_pod,
)
from tests.support.fakes.fake_clock import fake_sources
from tests.support.fakes.fake_kube import FakeKube, listed

ENDED = {"exitCode": 1, "finishedAt": "2026-01-01T10:00:05Z", "message": "ValueError: x\n"}


def raw_failed(name: str, second: int = 5, attempt: str = "1") -> dict[str, Any]:
    item = raw_pod(name, "Failed", attempt)
    ended = {**ENDED, "finishedAt": f"2026-01-01T10:00:{second:02}Z"}
    item["spec"] = {"nodeName": f"on-{name}"}
    item["metadata"]["creationTimestamp"] = "2026-01-01T09:00:00Z"
    item["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
    return item


FAILED = project_pod(raw_failed("a"))
LATER = project_pod(raw_failed("b", 9))
DELETED = {"deletionTimestamp": "2026-01-01T10:00:07Z", "deletionGracePeriodSeconds": 1}
KILLED = project_pod({**(raw := raw_failed("a", 8)), "metadata": {**raw["metadata"], **DELETED}})


class Watched:
    """The handler of pods alone. `alive`: the AppWrapper is there."""

    def __init__(self, *, alive: bool = True) -> None:
        self.memory = Memory()
        self.handlers: list[Any] = []
        pods: Any = self
        client: Any = FakeKube()
        sources = fake_sources()
        discovery = Discovery(client, sources.clock)
        caches = ComponentCaches(client, sources, discovery, lambda key, uid: alive)
        wakes = (lambda key: None, lambda key: None)
        ComponentWatches(caches, pods, sources.clock, *wakes, self.memory)

    def add_handler(self, handler: Any) -> None:
        self.handlers.append(handler)

    def change(self, old: Pod | None, new: Pod | None) -> tuple[Pod, ...]:
        for handler in self.handlers:
            handler(Change(KEY, old, new))
        return self.memory.sightings.failures("u1", Phase.RUNNING)


@pytest.mark.parametrize(
    ("old", "new", "remembered"),
    [
        pytest.param(FAILED, None, True, id="it is gone"),
        pytest.param(FAILED, replace(FAILED, deleting=True), True, id="it goes"),
        pytest.param(FAILED, FAILED, False, id="it stays"),
        pytest.param(None, FAILED, False, id="it appears"),
        pytest.param(replace(FAILED, deleting=True), None, True, id="it had failed before"),
        pytest.param(KILLED, None, False, id="its deletion ended it"),
        pytest.param(RUNNING_PODS[0], None, False, id="it ran"),
    ],
)
def test_a_failed_pod_is_remembered_when_it_goes(
    old: Pod | None, new: Pod | None, remembered: bool
) -> None:
    found = Watched().change(old, new)
    assert found == ((old,) if remembered else ())
    assert Watched(alive=False).change(old, new) == ()


async def test_a_root_cause_that_is_gone_is_found_until_its_attempt_ends() -> None:
    pods = (LATER,)
    bench = Gathering(appwrapper("Running"), known=facts(), pods=pods)
    bench.memory.sightings.see_failure(FAILED)
    snapshot = (await bench.observe()).snapshot
    cause = snapshot.root_cause
    assert cause is not None
    assert (cause.pod, cause.node, cause.exit_code, cause.message, cause.failed_pods) == (
        "a",
        "on-a",
        1,
        "ValueError: x",
        2,
    )
    assert snapshot.suspect == Suspect("on-a", "a")
    assert snapshot.pods.failed == 1, "what is gone is no failed pod that can be counted"
    ended = Gathering(appwrapper("Resetting"), known=facts(), pods=pods)
    ended.memory.sightings.see_failure(FAILED)
    await asyncio.gather(ended.gather(KEY, NOW), return_exceptions=True)
    assert ended.memory.sightings.failures("u1", Phase.RUNNING) == ()


async def test_a_pod_of_another_attempt_is_no_evidence() -> None:
    bench = Gathering(appwrapper("Running"), known=facts(), pods=RUNNING_PODS)
    bench.memory.sightings.see_failure(project_pod(raw_failed("old", attempt="0")))
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.root_cause, snapshot.suspect) == (None, None)


async def test_a_failure_that_the_live_list_lacks_is_known_from_the_cache() -> None:
    bench = Gathering(
        appwrapper("Running"),
        known=facts(),
        pods=(FAILED, LATER),
        lists=[[listed(9, raw_failed("b", 9))]],
    )
    observation = await bench.gather(KEY, NOW, {Need.LIVE_PODS})
    assert observation is not None
    assert observation.snapshot.root_cause is not None
    assert observation.snapshot.root_cause.pod == "a"
    assert observation.snapshot.pods.failed == 1


@pytest.mark.parametrize(
    ("strategy", "shown"), [("earliest", True), ("default", True), ("off", False)]
)
async def test_off_looks_for_no_root_cause_and_suspects_as_before(
    strategy: str, shown: bool
) -> None:
    annotations = {"workload.codeflare.dev.appwrapper/errorAggregation": strategy}
    item = appwrapper("Running", metadata={"annotations": annotations})
    bench = Gathering(item, known=facts(), pods=(FAILED, LATER))
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.root_cause is not None) is shown
    assert snapshot.suspect == Suspect("on-a", "a")


async def test_a_healed_failure_is_remembered_until_the_attempt_ends() -> None:
    """Case 20."""
    bench = Gathering(appwrapper("Running"), known=facts(), pods=(FAILED, RUNNING_PODS[1]))
    failing = (await bench.observe()).snapshot
    assert (failing.root_cause is not None, failing.healed) == (True, None)
    for attempt, kept in ((1, True), (2, False)):
        later = Gathering(
            appwrapper("Running", attempt=attempt),
            known=facts(attempt=str(attempt)),
            pods=RUNNING_PODS if attempt == 1 else (),
        )
        later.memory.of("u1").root_cause = bench.memory.of("u1").root_cause
        snapshot = (await later.observe()).snapshot
        assert snapshot.root_cause is None
        assert snapshot.healed == (failing.root_cause if kept else None)


@pytest.mark.parametrize(("strategy", "reads"), [("earliest", 1), ("default", 0), ("off", 0)])
async def test_a_component_that_gave_up_costs_a_list_of_pods_where_the_root_cause_decides(
    strategy: str, reads: int
) -> None:
    """A pod that the watch has yet to tell of may have failed before those that are known."""
    annotations = {"workload.codeflare.dev.appwrapper/errorAggregation": strategy}
    bench = Gathering(
        appwrapper("Running", metadata={"annotations": annotations}),
        known=facts(conditions=[{"type": "Failed", "status": "True"}]),
        pods=(LATER,),
        get=[{"metadata": {}}],
        lists=[[listed(9, raw_failed("a"), raw_failed("b", 9))]],
    )
    cause = (await bench.observe()).snapshot.root_cause
    assert len(bench.kube.called("pages")) == reads
    assert (cause.pod if cause else None) == {"earliest": "a", "default": "b"}.get(strategy)
