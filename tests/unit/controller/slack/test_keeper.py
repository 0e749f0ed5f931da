"""The keeper of the slack queue: what it reads, writes and reports, on a clock moved by hand."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from shared.kube.client import Forbidden, Invalid, NotFound, Unreachable
from shared.kube.responses import ApiError
from tests.support.builders.autopilot import GPU
from tests.support.builders.nodes import change
from tests.support.builders.slack import SLACK, gpu_queue, labelled_node
from tests.support.fakes.fake_clock import START, settle
from tests.support.fakes.fake_kube import WatchFeed
from tests.support.fakes.slack_world import SlackWorld

TOO_MUCH = (
    "the nominal quotas of the other ClusterQueues exceed the schedulable capacity of"
    " default-flavor by 3 nvidia.com/gpu: 16 nvidia.com/gpu promised, 13 nvidia.com/gpu"
    " schedulable. Reduce these nominalQuotas by 3 together, or bring nodes back"
)


@asynccontextmanager
async def running(world: SlackWorld) -> AsyncIterator[SlackWorld]:
    task = asyncio.create_task(world.keeper.run())
    await settle(60)
    await world.clock.advance(1)
    try:
        yield world
        if task.done():
            await task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_limit_falls_with_the_nodes_and_is_unset_when_they_are_back() -> None:
    async with running(SlackWorld()) as world:
        assert await world.seconds(60) == []
        world.have(8, 8, 5)
        assert await world.seconds(1) == ["5"]
        world.have(8, 8, 8)
        assert await world.seconds(29) == ["5"]
        assert await world.seconds(3) == ["5", None]
        assert await world.seconds(600) == ["5", None]
    assert world.events.emitted == [
        (
            "Normal",
            "SlackQuotaChanged",
            "set lendingLimit of nvidia.com/gpu in default-flavor to 5 (was unset; 21 schedulable,"
            " 16 promised by other ClusterQueues, nominalQuota 8)",
        ),
        (
            "Normal",
            "SlackQuotaChanged",
            "set lendingLimit of nvidia.com/gpu in default-flavor to unset (was 5; 24 schedulable,"
            " 16 promised by other ClusterQueues, nominalQuota 8)",
        ),
    ]


async def test_if_quotas_exceed_the_schedulable_resources_the_excess_is_reported() -> None:
    async with running(SlackWorld()) as world:
        world.have(8, 5, 0)
        assert await world.seconds(2) == ["0"]
        assert ("Warning", "QuotaExceedsCapacity", TOO_MUCH) in world.events.emitted
        assert world.value("appwrapper_quota_excess") == 3
        assert world.value("appwrapper_schedulable_capacity") == 13
        assert world.value("appwrapper_slack_lendable") == 0
        assert world.value("appwrapper_slack_lending_limit") == 0
        await world.seconds(600)
        assert world.reasons == ["QuotaExceedsCapacity", "SlackQuotaChanged"]
        world.have(8, 8, 0)
        await world.seconds(60)
        assert world.value("appwrapper_quota_excess") == 0
    assert world.reasons == ["QuotaExceedsCapacity", "SlackQuotaChanged"]


async def test_a_quota_beyond_all_bounds_is_reported_like_any_other() -> None:
    queues = [gpu_queue("team", 0)]
    group: Any = queues[0]["spec"]["resourceGroups"][0]
    group["flavors"][0]["resources"][0]["nominalQuota"] = "1e5000"
    async with running(SlackWorld(queues=queues)) as world:
        assert await world.seconds(2) == ["0"]
    assert world.events.emitted[0] == (
        "Warning",
        "QuotaExceedsCapacity",
        "the nominal quotas of the other ClusterQueues exceed the schedulable capacity of"
        " default-flavor by 9223372036854775783 nvidia.com/gpu: 9223372036854775807 nvidia.com/gpu"
        " promised, 24 nvidia.com/gpu schedulable. Reduce these nominalQuotas by"
        " 9223372036854775783 together, or bring nodes back",
    )


async def test_a_node_that_flaps_every_5_seconds_causes_one_write() -> None:
    async with running(SlackWorld()) as world:
        for beat in range(60):
            world.have(8, 8, 8 * (beat % 2))
            await world.seconds(5)
        assert world.kueue.writes == ["0"]
        assert world.reasons == ["SlackQuotaChanged"]


async def test_while_nodes_cannot_be_trusted_limits_fall_and_do_not_rise() -> None:
    async with running(SlackWorld(slack=gpu_queue(SLACK, 8, "5"))) as world:
        world.certain = False
        assert await world.seconds(300) == []
        world.have(8, 8, 2)
        assert await world.seconds(1) == ["2"]
        world.have(8, 8, 8)
        assert await world.seconds(300) == ["2"]
        world.certain = True
        assert await world.seconds(90) == ["2", None]


async def test_a_process_that_begins_raises_nothing_for_30_seconds() -> None:
    async with running(SlackWorld(slack=gpu_queue(SLACK, 8, "2"))) as world:
        assert await world.seconds(28) == []
        assert await world.seconds(4) == [None]


@pytest.mark.parametrize("missing", ["clusterqueues", "resourceflavors"])
async def test_nothing_is_written_before_everything_is_read(missing: str) -> None:
    world = SlackWorld(slack=gpu_queue(SLACK, 8, "2"))
    pages = world.kueue.pages
    away = True

    async def some(resource: Any, *args: Any, **kwargs: Any) -> Any:
        if away and resource.plural == missing:
            raise Unreachable("it is away")
        async for page in pages(resource, *args, **kwargs):
            yield page

    world.kueue.pages = some  # type: ignore[method-assign]
    async with running(world):
        world.have(0, 0, 0)
        assert await world.seconds(300) == []
        away = False
        assert await world.seconds(20) == ["0"]


async def test_a_queue_that_does_not_exist_is_picked_up_when_it_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = SlackWorld()
    slack = world.kueue.queues.pop(SLACK)
    world.have(8, 8, 5)
    async with running(world):
        assert await world.seconds(300) == []
        assert world.value("appwrapper_slack_lending_limit") is None
        world.kueue.queues[SLACK] = slack
        slack["metadata"]["resourceVersion"] = "9"
        world.kueue.feeds["clusterqueues"].send("ADDED", slack)
        assert await world.seconds(1) == ["5"]
    logged = [each for each in caplog.messages if "there is no" in each]
    assert logged == [
        f"slack queue: there is no ClusterQueue {SLACK}, so no lending limit is adjusted. Create it"
        " (deploy/team/slack), or remove appwrapper.slackQueue.name"
    ]


async def test_without_a_cohort_nothing_is_written_and_one_message_reports_it() -> None:
    async with running(SlackWorld(slack=gpu_queue(SLACK, 8, cohort=""))) as world:
        world.have(8, 8, 5)
        assert await world.seconds(300) == []
        world.have(8, 8, 4)
        assert await world.seconds(300) == []
    assert world.events.emitted == [
        (
            "Warning",
            "SlackQueueWithoutCohort",
            f"ClusterQueue {SLACK} has no cohort, so it lends nothing and has no lendingLimit."
            " Set spec.cohortName to the cohort of the teams",
        )
    ]


async def test_a_dry_run_logs_its_writes_and_writes_nothing() -> None:
    async with running(SlackWorld(dryRun=True)) as world:
        world.have(8, 5, 0)
        await world.seconds(600)
        assert world.value("appwrapper_slack_lendable") == 0
        assert world.value("appwrapper_slack_lending_limit") == 8
        world.kueue.edit("3")
        await world.seconds(60)
        assert world.kueue.calls == []
    would = "slackQueue.dryRun: would set lendingLimit of nvidia.com/gpu in default-flavor to 0"
    rest = "13 schedulable, 16 promised by other ClusterQueues, nominalQuota 8)"
    assert world.events.emitted == [
        ("Warning", "QuotaExceedsCapacity", TOO_MUCH),
        ("Normal", "SlackQuotaDryRun", f"{would} (was unset; {rest}"),
        ("Normal", "SlackQuotaDryRun", f"{would} (was 3; {rest}"),
    ]


async def test_a_dry_run_logs_the_same_write_again_after_another() -> None:
    async with running(SlackWorld(dryRun=True)) as world:
        for _ in range(2):
            world.have(8, 8, 5)
            await world.seconds(600)
            world.have(8, 8, 8)
            await world.seconds(600)
    assert world.reasons == ["SlackQuotaDryRun"] * 2


async def test_a_flapping_node_is_logged_once_in_a_dry_run() -> None:
    async with running(SlackWorld(dryRun=True)) as world:
        for beat in range(60):
            world.have(8, 8, 8 * (beat % 2))
            await world.seconds(7)
    assert world.reasons == ["SlackQuotaDryRun"]


async def test_an_admins_edit_is_reported_and_corrected() -> None:
    async with running(SlackWorld()) as world:
        world.have(8, 8, 5)
        await world.seconds(60)
        world.kueue.edit(None)
        assert await world.seconds(1) == ["5", "5"]
        world.kueue.edit("1")
        assert await world.seconds(29) == ["5", "5"]
        assert await world.seconds(4) == ["5", "5", "5"]
    edited = (
        "Warning",
        "SlackQuotaEdited",
        "another client changed a lendingLimit. The controller writes this field: to lend less,"
        " lower nominalQuota; to set it yourself, set appwrapper.slackQueue.dryRun",
    )
    assert [each for each in world.events.emitted if each[1] == "SlackQuotaEdited"] == [edited] * 2


async def test_an_admins_other_edits_are_no_edits_of_the_limit() -> None:
    async with running(SlackWorld()) as world:
        world.kueue.queues[SLACK]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0][
            "nominalQuota"
        ] = 9
        world.kueue.edit(None)
        assert await world.seconds(1) == ["8"]
    assert world.reasons == ["SlackQuotaChanged"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Invalid(422, "Invalid", "the test failed"), id="an edit came first"),
        pytest.param(ApiError(500, "InternalError", "no"), id="refused"),
    ],
)
async def test_a_refused_write_is_tried_again_with_growing_pauses(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(SlackWorld()) as world:
        world.kueue.fails = [error, error, error]
        world.have(8, 8, 5)
        assert await world.seconds(20) == ["5"] * 4
    assert world.reasons == ["SlackQuotaChanged"]
    pauses = [each.rpartition("; ")[2] for each in caplog.messages if "cannot be written" in each]
    assert pauses == ["again in 1 s", "again in 2 s", "again in 4 s"]


async def test_a_write_without_an_answer_may_have_been_one() -> None:
    async with running(SlackWorld()) as world:
        world.kueue.fails = [Unreachable("no answer")]
        world.have(8, 8, 5)
        assert await world.seconds(9) == ["5"]
        assert await world.seconds(2) == ["5", "5"]


async def test_a_missing_right_is_reported_once() -> None:
    async with running(SlackWorld()) as world:
        world.kueue.fails = [Forbidden(403, "Forbidden", "no patch for you")] * 20
        world.have(8, 8, 5)
        await world.seconds(100)
        assert world.reasons == ["SlackQuotaForbidden"]
        world.kueue.fails.clear()
        await world.seconds(60)
        assert world.reasons == ["SlackQuotaForbidden", "SlackQuotaChanged"]


async def test_it_waits_until_kueue_serves_its_api() -> None:
    world = SlackWorld()
    world.kueue.unserved = True
    world.have(8, 8, 5)
    async with running(world):
        assert await world.seconds(60) == []
        assert world.kueue.asked == {"v1beta2/clusterqueues", "v1beta2/resourceflavors"}
        assert list(world.keeper.informers) == []
        world.kueue.unserved = False
        assert await world.seconds(30) == ["5"]
        assert len(world.keeper.informers) == 2


async def test_an_api_that_was_away_is_read_again() -> None:
    """With its CRD the queue goes, and its DELETED event may be lost."""
    world = SlackWorld()
    async with running(world):
        world.kueue.unserved = True
        gone = NotFound(404, "NotFound", "the server could not find the requested resource")
        world.kueue.feeds["clusterqueues"].fail(gone)
        await settle()
        await world.seconds(30)
        assert world.value("appwrapper_slack_lending_limit") is None
        assert list(world.keeper.informers) == []
        world.have(8, 8, 5)
        assert await world.seconds(60) == []
        world.kueue.unserved = False
        world.kueue.feeds |= {"clusterqueues": WatchFeed(), "resourceflavors": WatchFeed()}
        assert await world.seconds(12) == ["5"]
        assert world.value("appwrapper_slack_lending_limit") == 5
        assert [each.resource.kind for each in world.keeper.informers] == [
            "ClusterQueue",
            "ResourceFlavor",
        ]


async def test_a_change_by_time_alone_is_noticed_within_30_seconds() -> None:
    """A node may become unschedulable with no event: nobody calls `look` then."""
    async with running(SlackWorld()) as world:
        await world.seconds(60)
        gone = labelled_node("n2", allocatable={GPU: "5"})
        world.nodes.update(change(None, gone), START)
        assert await world.seconds(31) == ["5"]


async def test_a_rise_of_its_own_does_not_hold_up_the_next() -> None:
    async with running(SlackWorld(slack=gpu_queue(SLACK, 8, "0"))) as world:
        world.have(8, 8, 0)
        await world.seconds(60)
        world.have(8, 8, 3)
        await world.seconds(15)
        world.have(8, 8, 5)
        assert await world.seconds(18) == ["3"]
        assert await world.seconds(15) == ["3", "5"]
