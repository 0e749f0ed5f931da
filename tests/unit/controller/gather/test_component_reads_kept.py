"""Where kept components are, of whatever attempt, and objects put in the place of others."""

from typing import Any

import pytest

from controller.facts.components import ComponentFacts, project_component
from controller.phases.snapshot import Presence
from shared.api.objects import JsonObject
from shared.kube.client import ApiError, NotFound
from tests.support.builders.gathering import (
    NOT_FOUND,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    job,
)
from tests.support.fakes.fake_kube import listed

CONDITION = {"type": "ResourcesDeployed", "status": "True"}
ENDING: JsonObject = {"metadata": {}}


def kept(phase: str, reason: str = "ComponentCreationInitiated", **condition: str) -> Any:
    """In its second attempt. It wraps a Job, as all of this bench, that declares no pods."""
    item = appwrapper(phase, attempt=2)
    annotations = {"workload.codeflare.dev.appwrapper/keep": "true"}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "train"}}
    item["spec"]["components"] = [{"template": config_map, "annotations": annotations}]
    (recorded,) = item["status"]["componentStatus"]
    recorded |= {"apiVersion": "v1", "kind": "ConfigMap", "podSets": []}
    recorded["conditions"] = [{**CONDITION, "reason": reason, **condition}]
    return item


def going(attempt: str) -> ComponentFacts:
    item = job(attempt=attempt)
    item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found = project_component("batch/Job", item)
    assert found is not None
    return found


async def presence(bench: Gathering) -> Presence:
    observation = await bench.observe()
    (component,) = observation.snapshot.components
    assert component.keep
    return component.presence


@pytest.mark.parametrize("attempt", ["1", "2"])
async def test_one_of_an_earlier_attempt_is_there(attempt: str) -> None:
    bench = Gathering(kept("Resuming"), known=facts(attempt=attempt))
    assert await presence(bench) is Presence.PRESENT
    observation = await bench.observe()
    assert [found.keep for found in observation.deployed] == [True]


async def test_one_that_only_a_live_read_finds_is_there() -> None:
    bench = Gathering(kept("Resuming"), get=[job(attempt="1")])
    assert await presence(bench) is Presence.PRESENT


async def test_one_that_is_missing_at_resuming_is_to_be_made() -> None:
    assert await presence(Gathering(kept("Resuming"), get=[NOT_FOUND])) is Presence.PLANNED


async def test_one_that_is_going_at_resuming_is_to_be_made() -> None:
    assert await presence(Gathering(kept("Resuming"), known=going("1"))) is Presence.PLANNED


async def test_one_that_this_attempt_made_is_missing_like_any_other() -> None:
    made = kept("Resuming")
    bench = Gathering(made, get=[NOT_FOUND, ENDING])
    bench.creations.record_success("u1", 2, 0, "j1")
    assert await presence(bench) is Presence.GONE


async def test_one_that_goes_while_it_runs_is_missing() -> None:
    bench = Gathering(kept("Running", "ComponentCreatedSuccessfully"), get=[NOT_FOUND, ENDING])
    assert await presence(bench) is Presence.GONE


async def test_pods_are_strays_though_a_kept_component_is_left() -> None:
    item = kept("Running", "ComponentCreatedSuccessfully")
    bench = Gathering(item, known=facts(attempt="1"), get=[job(attempt="1")], pods=RUNNING_PODS)
    assert (await bench.observe()).snapshot.stray_pods


RUNS = ("Running", "ComponentCreatedSuccessfully")


def second() -> JsonObject:
    item = job(attempt="2")
    item["metadata"]["uid"] = "j2"
    return item


async def test_a_kept_one_that_the_last_leader_replaced_is_read_if_the_cache_lags() -> None:
    bench = Gathering(kept(*RUNS), known=facts(attempt="1"), get=[second(), ENDING])
    assert await presence(bench) is Presence.PRESENT
    bench.watches.set(project_component("batch/Job", second()))  # the watch catches up
    assert await presence(bench) is Presence.PRESENT


async def test_a_kept_one_is_read_once_in_a_term() -> None:
    bench = Gathering(kept(*RUNS), known=facts(attempt="1"), get=[job(attempt="1")])
    assert await presence(bench) is Presence.PRESENT
    assert await presence(bench) is Presence.PRESENT


async def test_a_kept_one_that_goes_in_a_cache_that_lags_is_read() -> None:
    bench = Gathering(kept(*RUNS), known=going("1"), get=[second(), ENDING])
    assert await presence(bench) is Presence.PRESENT


async def test_a_doubtful_one_that_cannot_be_read_is_unknown_and_read_again() -> None:
    bench = Gathering(
        kept(*RUNS), known=facts(attempt="1"), get=[ApiError(500, "", "away"), second(), ENDING]
    )
    assert await presence(bench) is Presence.UNKNOWN
    assert await presence(bench) is Presence.PRESENT
    bench.watches.set(project_component("batch/Job", second()))
    assert await presence(bench) is Presence.PRESENT


async def test_an_end_of_the_go_operators_earlier_object_does_not_count_for_this_attempt() -> None:
    item = job(attempt="")
    item["status"] = {"conditions": [{"type": "Failed", "status": "True", "message": "x"}]}
    known = project_component("batch/Job", item)
    bench = Gathering(
        appwrapper("Running", attempt=2),
        known=known,
        get=[second(), ENDING, ENDING],
        lists=[[listed(9)]],
    )
    (found,) = (await bench.observe()).snapshot.components
    assert (found.uid, found.terminal) == ("j2", None)


async def test_an_object_put_in_the_place_of_a_component_is_not_it() -> None:
    """Somebody replaced it by force, owner and labels included. It goes with the rest."""
    replaced = job()
    replaced["metadata"]["uid"] = "j2"
    bench = Gathering(
        appwrapper("Running"), known=facts(), pods=RUNNING_PODS, get=[replaced, ENDING]
    )
    assert await bench.presence() is Presence.PRESENT
    bench.watches.set(project_component("batch/Job", replaced))
    observation = await bench.observe()
    assert observation.snapshot.components[0].presence is Presence.GONE
    assert [found.uid for found in observation.deployed] == ["j2"]


async def test_an_object_is_recognised_by_this_process_create_before_any_read() -> None:
    replaced = job()
    replaced["metadata"]["uid"] = "j2"
    bench = Gathering(appwrapper("Running"), known=facts(), created=True, get=[replaced, ENDING])
    bench.watches.set(project_component("batch/Job", replaced))
    assert await bench.presence() is Presence.GONE


@pytest.mark.parametrize(
    ("answer", "presence"),
    [
        (job(), Presence.PRESENT),
        (NotFound(404, "NotFound", 'jobs "train" not found'), Presence.GONE),
        (ApiError(500, "InternalError", "the webhook fails"), Presence.UNKNOWN),
    ],
)
async def test_a_cached_object_with_another_uid_makes_a_component_missing_only_if_a_read_agrees(
    answer: Any, presence: Presence
) -> None:
    replaced = job()
    replaced["metadata"]["uid"] = "j2"
    known = project_component("batch/Job", replaced)
    answers = [answer] if presence is not Presence.GONE else [answer, ENDING]
    bench = Gathering(appwrapper("Running"), known=known, created=True, get=answers)
    assert await bench.presence() is presence


async def test_an_object_that_this_process_created_is_the_component() -> None:
    bench = Gathering(appwrapper("Running"), known=facts(), created=True)
    bench.memory.creations.is_replaced("u1", 1, 0, "of-another")
    assert await bench.presence() is Presence.PRESENT


async def test_during_a_deletion_every_owned_object_is_deleted() -> None:
    bench = Gathering(appwrapper("Suspending", "DeletingResources"), known=facts())
    bench.memory.creations.is_replaced("u1", 1, 0, "of-another")
    assert await bench.presence() is Presence.PRESENT


@pytest.mark.parametrize(("phase", "gone"), [("Suspending", True), ("Terminating", False)])
async def test_a_proof_passes_over_it_unless_it_goes_too(phase: str, gone: bool) -> None:
    item = kept(phase, "ComponentsCreated", status="True")
    bench = Gathering(item, known=facts(attempt="2"), get=[job(attempt="2")], lists=[[listed(9)]])
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.components[0].exists) == (gone, True)


async def test_a_kept_one_that_this_process_adopted_is_not_read() -> None:
    bench = Gathering(kept(*RUNS), known=facts(attempt="1"))
    bench.creations.record_success("u1", 2, 0, "j1")
    assert await presence(bench) is Presence.PRESENT
