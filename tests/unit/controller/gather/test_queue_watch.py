"""What Kueue's objects say of an AppWrapper that waits, and whom their changes wake."""

import pytest

from controller.gather.queue_watch import READ_AGE, REFUSED_AGE
from controller.memory.memory import Remembered
from controller.phases.snapshot import Queueing
from shared.api.appwrapper import AppWrapper
from shared.api.objects import NAMESPACES
from shared.kube.client import KubeError, Unreachable
from shared.waits import kueue_settings
from tests.support.fakes.fake_clock import settle
from tests.support.fakes.queue_watching import (
    ALL,
    CONSIDERED,
    GONE,
    KEY,
    NO,
    WITHOUT_QUEUE,
    appwrapper,
    cluster_queue,
    local_queue,
    watching,
    workload,
)


async def test_queueing_is_read_from_the_caches() -> None:
    async with watching(*ALL) as seen:
        assert await seen.look() == CONSIDERED
        assert seen.kueue.versions == {"v1beta2"}
        assert seen.woken == [KEY]  # once, when everything is listed
        assert seen.kueue.called("get") == []


async def test_an_appwrapper_is_read_again_after_a_refused_watch() -> None:
    """If the cache knows the change already, the watch that works again does not report it."""
    async with watching(*ALL) as seen:
        seen.kueue.refuses = NO
        seen.kueue.feeds["workloads"].fail(NO)
        await seen.clock.advance(30)
        assert seen.later == []
        assert await seen.look() is None
        assert seen.later == [(KEY, REFUSED_AGE)]


async def test_one_read_proves_to_all_that_a_queue_is_missing() -> None:
    async with watching(get=[GONE, GONE]) as seen:
        assert await seen.look() == WITHOUT_QUEUE
        assert seen.kueue.called("get")[0].args[1:] == ("team1", "q")
        others = AppWrapper(appwrapper("other"))
        assert await seen.watch.read(others, Remembered()) == WITHOUT_QUEUE
        assert len(seen.kueue.called("get")) == 1
        await seen.clock.advance(READ_AGE)
        assert await seen.look() == WITHOUT_QUEUE
        assert len(seen.kueue.called("get")) == 2


async def test_each_missing_queue_is_proved_by_its_own_read() -> None:
    async with watching(get=[GONE, GONE]) as seen:
        await seen.look()
        other = AppWrapper(appwrapper(queue="other"))
        assert await seen.watch.read(other, seen.remembered) is not None
        assert [call.args[2] for call in seen.kueue.called("get")] == ["q", "other"]


async def test_a_queue_that_the_watch_has_not_shown_is_there() -> None:
    async with watching(ALL[0], ALL[2], get=[local_queue(9)]) as seen:
        seen.woken.clear()
        assert await seen.look() == CONSIDERED
        assert seen.woken == [KEY]
        assert await seen.look() == CONSIDERED


@pytest.mark.parametrize("error", [NO, Unreachable("no answer")])
async def test_a_failed_read_proves_neither_and_is_repeated(error: KubeError) -> None:
    """A report of a process before this one must stay: the pass ends without a write."""
    async with watching(get=[error, GONE]) as seen:
        with pytest.raises(type(error)):
            await seen.look()
        assert await seen.look() == WITHOUT_QUEUE


async def test_a_queue_that_was_read_may_be_deleted_soon() -> None:
    async with watching(ALL[0], ALL[2], get=[local_queue(9), GONE]) as seen:
        assert await seen.look() == CONSIDERED
        await seen.changed("localqueues", local_queue(10))
        seen.kueue.feeds["localqueues"].send("DELETED", local_queue(11))
        await settle()
        found = await seen.look()
        assert found is not None
        assert found.trouble == WITHOUT_QUEUE.trouble


async def test_a_missing_cluster_queue_is_proved_by_its_own_name() -> None:
    async with watching(ALL[1], get=[GONE]) as seen:
        found = await seen.look()
        assert found is not None
        text = "ClusterQueue c of LocalQueue q does not exist. An admin must create it"
        assert (found.trouble, found.certain) == (text, True)
        assert seen.kueue.called("get")[0].args[1:] == (None, "c")


async def test_a_preemptor_has_its_name() -> None:
    message = "Preempted to accommodate a workload (UID: x, JobUID: uid-of-urgent) due to age"
    urgent = workload(3, owner="urgent", namespace="b")
    async with watching(
        *ALL[1:], ("workloads", workload(3, message)), ("workloads", urgent)
    ) as seen:
        found = await seen.look()
        assert found is not None
        assert found.pending == ("Preempted to accommodate Job urgent of namespace b due to age")
        seen.kueue.feeds["workloads"].send("DELETED", urgent)
        await settle()
        assert await seen.look() == found  # the preemptor is gone, and keeps its name
        seen.remembered = Remembered()
        found = await seen.look()
        assert found is not None
        assert found.pending == "Preempted to accommodate another workload due to age"


async def test_only_reported_changes_wake_and_only_waiting_appwrappers() -> None:
    async with watching(*ALL) as seen:
        assert await seen.changed("workloads", workload(11)) == []
        assert await seen.changed("workloads", workload(12, "other words")) == [KEY]
        assert await seen.changed("workloads", workload(13, "x", owner="runs")) == []
        assert await seen.changed("localqueues", local_queue(14)) == []
        assert await seen.changed("localqueues", local_queue(15, stopPolicy="Hold")) == [KEY]
        assert await seen.changed("clusterqueues", cluster_queue(16)) == []
        assert await seen.changed("clusterqueues", cluster_queue(17, stopPolicy="Hold")) == [KEY]
        other = cluster_queue(18, stopPolicy="Hold")
        other["metadata"]["name"] = "other"
        assert await seen.changed("clusterqueues", other) == []


async def test_words_that_change_each_second_wake_once_in_ten() -> None:
    async with watching(*ALL) as seen:
        assert await seen.changed("workloads", workload(11, "5 more needed")) == [KEY]
        for second in (1, 2):
            await seen.clock.advance(1)
            assert await seen.changed("workloads", workload(11 + second, f"{second} more")) == []
        assert seen.later == [(KEY, 9.0), (KEY, 8.0)]
        await seen.clock.advance(8)
        assert await seen.changed("workloads", workload(14, "7 more needed")) == [KEY]
        seen.kueue.feeds["workloads"].send("DELETED", workload(15, "7 more needed"))
        seen.woken.clear()
        await settle()
        assert seen.woken == [KEY], "that it is gone is more than other words"


SETTINGS = {
    "data": {kueue_settings.KEY: "integrations: {frameworks: [batch/job]}"},
}


async def test_why_kueue_makes_no_workload() -> None:
    async with watching(*ALL, get=[SETTINGS, NO]) as seen:
        assert await seen.watch.unmanaged("team1") == (
            "integrations.frameworks of Kueue's configuration lacks"
            " workload.codeflare.dev/appwrapper"
        )
        assert [call.args for call in seen.kueue.called("get")] == [
            (kueue_settings.RESOURCE, "mlbatch-system", "kueue-manager-config"),
            (NAMESPACES, None, "team1"),
        ]


async def test_settings_that_are_not_in_the_first_namespace_are_read_from_the_next_one() -> None:
    async with watching(*ALL, get=[GONE, SETTINGS, NO]) as seen:
        assert (await seen.watch.unmanaged("team1") or "").startswith("integrations.frameworks of")
        assert [call.args[1] for call in seen.kueue.called("get")] == [
            "mlbatch-system",
            "kueue-system",
            None,
        ]


async def test_settings_that_cannot_be_read_prove_nothing() -> None:
    async with watching(*ALL, get=[NO, GONE]) as seen:
        assert await seen.watch.unmanaged("team1") is None


TEAM = {"metadata": {"name": "team1", "labels": {}}}
MANAGED = {
    "data": {
        kueue_settings.KEY: "integrations: {frameworks: [workload.codeflare.dev/appwrapper]}",
    }
}


async def test_settings_prove_nothing_of_a_namespace_that_cannot_be_read() -> None:
    async with watching(*ALL, get=[MANAGED, NO]) as seen:
        assert await seen.watch.unmanaged("team1") is None


async def test_thousands_that_wait_read_the_settings_once_in_a_while() -> None:
    async with watching(*ALL, get=[MANAGED, TEAM, SETTINGS, TEAM]) as seen:
        for _ in range(3):
            assert await seen.watch.unmanaged("team1") == ""
        assert len(seen.kueue.called("get")) == 2
        await seen.clock.advance(READ_AGE)
        assert await seen.watch.unmanaged("team1") != ""
        assert len(seen.kueue.called("get")) == 4


async def test_a_workload_that_kueue_has_not_come_to() -> None:
    new = workload(3)
    new["status"] = {}
    async with watching(("workloads", new), *ALL[1:]) as seen:
        assert await seen.look() == Queueing(workload=True)
