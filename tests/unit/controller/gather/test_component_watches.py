"""Which Kinds are watched, how, and what is remembered of what went."""

import asyncio
from typing import Any

import pytest

from controller.facts.pods import project_pod
from controller.gather.component_watches import SILENCE
from controller.phases.phase import Phase
from shared.api.conditions import Terminal
from shared.api.objects import PODS, SECRETS, Resource
from shared.kube.client import Forbidden, Gone, NotFound
from tests.support.cluster.resources import JOBS, SERVICES
from tests.support.fakes.component_watching import (
    OWNER,
    WatchingBench,
    ensured_in_vain,
    owned,
    until_idle,
)
from tests.support.fakes.fake_kube import WatchFeed, listed


def complete(version: int) -> dict[str, Any]:
    return owned(version, status={"conditions": [{"type": "Complete", "status": "True"}]})


@pytest.mark.parametrize("resource", [SECRETS, PODS])
async def test_secrets_and_pods_get_no_watch_here(resource: Resource) -> None:
    bench = WatchingBench()
    await bench.watches.ensure(resource)
    await until_idle()
    assert bench.informers() == []
    assert bench.kube.calls == []
    await bench.end()


@pytest.mark.parametrize(
    ("resource", "metadata_only"), [(JOBS, False), (SERVICES, True)], ids=["read", "not read"]
)
async def test_a_kind_is_watched_once_and_as_little_as_possible(
    resource: Resource, metadata_only: bool
) -> None:
    bench = WatchingBench([listed(5)])
    await bench.watches.ensure(resource)
    await bench.watches.ensure(resource)
    (call,) = bench.kube.called("pages")
    assert call.args == (resource, None)
    assert call.kwargs == {
        "label_selector": "workload.codeflare.dev/appwrapper",
        "field_selector": "",
        "metadata_only": metadata_only,
        "page_size": 500,
    }
    await bench.end()


async def test_a_list_that_never_comes_is_waited_for_once() -> None:
    bench = WatchingBench(*[Forbidden(403, "Forbidden", "no")] * 20)
    await ensured_in_vain(bench)
    await bench.watches.ensure(JOBS)
    assert not bench.watches.is_watched(JOBS)
    assert bench.watches.is_watched(PODS)
    assert not bench.watches.is_watched(SECRETS)
    await bench.end()


async def test_changes_wake_the_appwrapper() -> None:
    bench = WatchingBench([listed(5, owned(4))])
    await bench.watches.ensure(JOBS)
    assert bench.woken == [("team1", "train")]
    bench.feed.send("MODIFIED", complete(6))
    await until_idle()
    assert bench.woken == [("team1", "train")] * 2
    found = bench.known()
    assert found is not None
    assert found.terminal is Terminal.SUCCEEDED
    assert bench.known(owner="u2") is None
    await bench.end()


async def test_how_it_ended_is_remembered_from_the_last_event() -> None:
    bench = WatchingBench([listed(5, owned(4))])
    await bench.watches.ensure(JOBS)
    assert bench.watches.last_seen("batch/Job", "a", "u1") is None
    bench.feed.send("DELETED", complete(6))
    await until_idle()
    assert bench.known() is None
    last = bench.watches.last_seen("batch/Job", "a", "u1")
    assert last is not None
    assert last.terminal is Terminal.SUCCEEDED
    assert len(bench.woken) == 2
    bench.memory.forget("u1", ("team1", "train"))
    assert bench.watches.last_seen("batch/Job", "a", "u1") is None
    await bench.end()


async def test_a_deleted_event_with_the_labels_before_the_change_wakes_and_proves_nothing() -> None:
    """So the API server reports an object that lost its label: it still exists."""
    bench = WatchingBench([listed(5, owned(4))])
    await bench.watches.ensure(JOBS)
    bench.feed.send("DELETED", owned(6))
    await until_idle()
    last = bench.watches.last_seen("batch/Job", "a", "u1")
    assert last is not None
    assert (last.labelled, last.terminal) == (True, None)
    assert bench.known() is None
    assert bench.woken == [("team1", "train")] * 2
    await bench.end()


async def test_own_writes_are_known_before_their_watch_event() -> None:
    bench = WatchingBench([listed(5)])
    await bench.watches.ensure(JOBS)
    bench.watches.assume(JOBS, owned(7))
    found = bench.known()
    assert found is not None
    assert found.attempt == "1"
    assert bench.woken == []
    await bench.end()


async def test_an_object_that_lost_its_label_is_forgotten() -> None:
    bench = WatchingBench([listed(5)])
    await bench.watches.ensure(JOBS)
    for resource in (JOBS, PODS):
        stripped = owned(7)
        del stripped["metadata"]["labels"]["workload.codeflare.dev/appwrapper"]
        bench.watches.assume(resource, stripped)
        assert bench.known(resource) is None
    await bench.end()


async def test_a_pod_is_known_from_the_pods() -> None:
    bench = WatchingBench()
    bench.watches.assume(PODS, owned(7, status={"phase": "Succeeded"}))
    found = bench.known(PODS)
    assert found is not None
    assert found.terminal is Terminal.SUCCEEDED
    await bench.end()


async def test_a_pod_that_went_is_remembered() -> None:
    feed = WatchFeed()
    bench = WatchingBench([listed(5, owned(4, status={"phase": "Succeeded"}))])
    bench.kube.watches = [feed]
    task = asyncio.create_task(bench.pods.run())
    await bench.pods.wait_synced()
    feed.send("DELETED", owned(6, status={"phase": "Succeeded"}))
    await until_idle()
    last = bench.watches.last_seen("Pod", "a", "u1")
    assert last is not None
    assert last.terminal is Terminal.SUCCEEDED
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await bench.end()


@pytest.mark.parametrize("forgotten", [True, False], ids=["it is gone", "it never was"])
async def test_nothing_is_remembered_without_an_appwrapper(forgotten: bool) -> None:
    """Its finalizer goes by live reads; the watch may tell of its components later.

    Any client may create an object whose labels name an AppWrapper that never existed.
    """
    bench = WatchingBench([listed(5, owned(4))])
    await bench.watches.ensure(JOBS)
    bench.alive.clear()
    if forgotten:
        bench.memory.forget("u1", ("team1", "train"))
    bench.feed.send("DELETED", complete(6))
    await until_idle()
    assert bench.known() is None
    assert bench.watches.last_seen("batch/Job", "a", "u1") is None
    await bench.end()


async def test_two_versions_of_a_kind_are_watched_side_by_side() -> None:
    later = Resource("batch", "v2", "jobs", "Job")
    bench = WatchingBench([listed(5, owned(4))], [listed(5, owned(4))])
    bench.kube.watches.append(WatchFeed())
    await bench.watches.ensure(JOBS)
    await bench.watches.ensure(later)
    assert bench.informers() == ["informer of batch/v1 jobs", "informer of batch/v2 jobs"]
    assert bench.known(later) == bench.known(JOBS) is not None
    await bench.end()


async def test_without_a_list_our_own_writes_are_no_knowledge() -> None:
    """Nothing would ever tell that the object went."""
    bench = WatchingBench(*[Forbidden(403, "Forbidden", "no")] * 20)
    await ensured_in_vain(bench)
    bench.watches.assume(JOBS, owned(7))
    assert bench.known() is None
    await bench.end()


async def test_an_object_without_owner_belongs_to_its_label() -> None:
    """`kubectl delete --cascade=orphan` takes the reference away; its pods would go on."""
    orphan = owned(4)
    del orphan["metadata"]["ownerReferences"]
    orphan["metadata"]["labels"]["workload.codeflare.dev/uid"] = "u1"
    bench = WatchingBench([listed(5, orphan)])
    await bench.watches.ensure(JOBS)
    assert bench.known() is not None
    assert bench.woken == [("team1", "train")]
    bench.watches.assume(PODS, orphan)
    assert bench.known(PODS) is not None
    adopted = owned(6)
    adopted["metadata"]["labels"]["workload.codeflare.dev/uid"] = "u1"
    adopted["metadata"]["ownerReferences"] = [{**OWNER, "uid": "u2"}]
    bench.feed.send("MODIFIED", adopted)
    await until_idle()
    assert bench.known() is None
    await bench.end()


async def test_an_object_without_owner_and_label_belongs_to_no_appwrapper() -> None:
    stranger = owned(4)
    del stranger["metadata"]["ownerReferences"]
    bench = WatchingBench([listed(5, stranger)])
    await bench.watches.ensure(JOBS)
    assert bench.known() is None
    assert bench.woken == []
    await bench.end()


async def test_a_component_that_failed_wakes_its_appwrapper_at_once() -> None:
    failed = {"conditions": [{"type": "Failed", "status": "True"}]}
    bench = WatchingBench([listed(5, owned(4))])
    await bench.watches.ensure(JOBS)
    bench.feed.send("MODIFIED", owned(6, status=failed))
    await until_idle()
    assert (bench.woken, bench.woken_at_once) == ([("team1", "train")], [("team1", "train")])
    bench.feed.send("DELETED", owned(7, status=failed))
    await until_idle()
    assert (len(bench.woken), len(bench.woken_at_once)) == (2, 1)
    await bench.end()


GONE = Gone(410, "Expired", "too old")
NO_SUCH_KIND = NotFound(404, "", "404 page not found")


async def test_a_kind_that_is_no_longer_served_wakes_the_appwrappers_with_its_objects() -> None:
    """Its definition was taken away, and the watch ended before it could tell of the objects."""
    bench = WatchingBench([listed(5, owned(4))], NO_SUCH_KIND)
    await bench.watches.ensure(JOBS)
    assert bench.woken == [("team1", "train")]
    bench.feed.fail(GONE)
    await until_idle()
    await bench.clock.advance(1)
    await until_idle()
    assert bench.woken == [("team1", "train")] * 2
    assert bench.known() is None
    assert not bench.watches.is_watched(JOBS)
    assert bench.informers() == []
    assert not bench.running.done()
    await bench.end()


async def test_another_refusal_ends_no_watch() -> None:
    bench = WatchingBench(
        [listed(5, owned(4))], Forbidden(403, "Forbidden", "no"), [listed(6, owned(4))]
    )
    await bench.watches.ensure(JOBS)
    bench.feed.fail(GONE)
    await until_idle()
    await bench.clock.advance(1)
    await until_idle()
    assert bench.woken == [("team1", "train")]
    assert bench.watches.is_watched(JOBS)
    await bench.end()


async def test_a_kind_whose_watch_is_refused_wakes_its_users_once() -> None:
    no = Forbidden(403, "Forbidden", "no")
    bench = WatchingBench([listed(5, owned(4))], *[no] * 9, [listed(6, owned(4))])
    await bench.watches.ensure(JOBS)
    bench.feed.fail(GONE)
    refused = []
    for _ in range(90):
        await until_idle()
        refused.append(bench.watches.is_refused(JOBS))
        # So whoever uses it looks again by itself.
        assert bench.watches.is_watched(JOBS) is not refused[-1]
        await bench.clock.advance(1)
    assert refused[0] is refused[-1] is False
    assert True in refused
    assert bench.woken == [("team1", "train")] * 2  # the first is of the list
    assert bench.watches.is_watched(JOBS)
    await bench.end()


async def test_a_kind_that_does_not_answer_is_left_alone_for_a_while() -> None:
    bench = WatchingBench()
    assert not bench.watches.is_silent(JOBS)
    bench.watches.fall_silent(JOBS)
    await bench.clock.advance(SILENCE - 1)
    assert bench.watches.is_silent(JOBS)
    assert not bench.watches.is_silent(SERVICES)
    await bench.clock.advance(1)
    assert not bench.watches.is_silent(JOBS)
    await bench.end()


def succeeded_pod(version: int, phase: str = "Succeeded", **metadata: Any) -> dict[str, Any]:
    item = owned(version, status={"phase": phase})
    item["metadata"]["labels"]["workload.codeflare.dev/uid"] = "u1"
    item["metadata"]["ownerReferences"] = [{**OWNER, "uid": "j1", "kind": "Job"}]
    item["metadata"].update(metadata)
    return item


DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("before", "after", "remembered"),
    [
        pytest.param(succeeded_pod(5), None, True, id="it is gone"),
        pytest.param(succeeded_pod(5), succeeded_pod(6, **DELETING), True, id="it goes"),
        pytest.param(succeeded_pod(5), succeeded_pod(6), False, id="it stays"),
        pytest.param(succeeded_pod(5, "Running"), None, False, id="it ran"),
        pytest.param(
            succeeded_pod(5, "Running", **DELETING),
            succeeded_pod(6, **DELETING),
            False,
            id="it ended for its deletion",
        ),
        pytest.param(succeeded_pod(5, **DELETING), None, False, id="nobody saw it before that"),
    ],
)
async def test_a_pod_that_had_ended_well_is_remembered_when_it_goes(
    before: dict[str, Any], after: dict[str, Any] | None, remembered: bool
) -> None:
    bench = WatchingBench([listed(5, before)])
    task = asyncio.create_task(bench.pods.run())
    await bench.pods.wait_synced()
    bench.feed.send("DELETED" if after is None else "MODIFIED", after or succeeded_pod(6))
    await until_idle()
    successes = bench.memory.sightings.successes("u1", Phase.RUNNING)
    assert successes == ((project_pod(before),) if remembered else ())
    assert bench.memory.sightings.failures("u1", Phase.RUNNING) == ()
    task.cancel()
    await bench.end()


async def test_all_objects_of_an_owner_are_found_by_its_uid() -> None:
    by_label = owned(4, "copy")
    del by_label["metadata"]["ownerReferences"]
    by_label["metadata"]["labels"]["workload.codeflare.dev/uid"] = "u1"
    bench = WatchingBench([listed(5, owned(2, "a"), owned(3, "b"), by_label)])
    assert bench.watches.owned("u1") == []
    await bench.watches.ensure(JOBS)
    found = bench.watches.owned("u1")
    assert [(resource, facts.name) for resource, facts in found] == [(JOBS, "a"), (JOBS, "b")]
    assert bench.watches.owned("u2") == []
    await bench.end()
