"""The keeper of the slack queue: what it reads, writes and reports, on a clock moved by hand."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.fleet.slack_keeper import SlackKeeper
from controller.fleet.slack_reports import show_slack_quota
from shared.api.objects import JsonObject
from shared.config.fault_tolerance import SlackQueue
from shared.kube.client import Forbidden, Invalid, NotFound, PatchType, Unreachable
from shared.kube.responses import ApiError
from tests.support.builders.autopilot import GPU
from tests.support.builders.nodes import change
from tests.support.builders.slack import (
    FLAVOR,
    SLACK,
    gpu_queue,
    index_of,
    labelled_node,
    raw_flavor,
)
from tests.support.fakes.fake_clock import START, FakeClock, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, listed

SERVED = {"versions": [{"version": "v1beta2"}, {"version": "v1beta1"}]}
LIMIT = "/spec/resourceGroups/0/flavors/0/resources/0/lendingLimit"
TEAMS = (gpu_queue("code", 8), gpu_queue("platform", 8))
TOO_MUCH = (
    "the nominal quotas of the other ClusterQueues exceed the schedulable capacity of"
    " default-flavor by 3 nvidia.com/gpu: 16 nvidia.com/gpu promised, 13 nvidia.com/gpu"
    " schedulable. Reduce these nominalQuotas by 3 together, or bring nodes back"
)


@dataclass
class Events:
    """What people hear, on the slack queue."""

    told: list[tuple[str, str, str]] = field(default_factory=list)

    def normal(self, about: Any, reason: str, message: str) -> None:
        self._tell("Normal", about, reason, message)

    def warning(self, about: Any, reason: str, message: str) -> None:
        self._tell("Warning", about, reason, message)

    def _tell(self, kind: str, about: Any, reason: str, message: str) -> None:
        named = (about.kind, about.namespace, about.name, about.uid)
        assert named == ("ClusterQueue", "", SLACK, f"uid-{SLACK}")
        self.told.append((kind, reason, message))


class Kueue(FakeKube):
    """Serves ClusterQueues and flavors, and applies limits that are patched."""

    def __init__(self, queues: Iterable[JsonObject], flavors: Iterable[JsonObject]) -> None:
        super().__init__(answers={"get_path": [SERVED] * 5})
        self.queues = {each["metadata"]["name"]: each for each in queues}
        self.feeds = {"clusterqueues": WatchFeed(), "resourceflavors": WatchFeed()}
        self._served = {"clusterqueues": self.queues.values(), "resourceflavors": list(flavors)}
        self.asked: set[str] = set()
        self.fails: list[Exception] = []
        self.unserved = False
        self.version = 10

    async def pages(self, resource: Any, *_: Any, **__: Any) -> Any:
        self.asked.add(f"{resource.version}/{resource.plural}")
        if self.unserved:
            raise NotFound(404, "NotFound", "the server could not find the requested resource")
        yield listed(7, *self._served[resource.plural])

    async def watch(self, resource: Any, *_: Any, **__: Any) -> Any:
        async for event in self.feeds[resource.plural].events():
            yield event

    async def patch(
        self, resource: Any, _: Any, name: str, body: Any, kind: Any, **more: Any
    ) -> Any:
        assert (resource.plural, name, kind) == ("clusterqueues", SLACK, PatchType.JSON)
        assert more == {"field_manager": "appwrapper-slack-quota"}
        self.calls.append(body)
        if self.fails:
            raise self.fails.pop(0)
        stored = self.queues[name]
        assert body[1]["value"] == stored["spec"]["resourceGroups"]
        [operation] = body[2:]
        assert operation["path"] == LIMIT
        return self.store(name, operation.get("value"), "appwrapper-slack-quota")

    def store(self, name: str, limit: str | None, manager: str) -> JsonObject:
        """The queue with that limit."""
        nominal = self.queues[name]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
        self.version += 1
        self.queues[name] = gpu_queue(
            name, nominal["nominalQuota"], limit, version=self.version, manager=manager
        )
        return self.queues[name]

    def edit(self, limit: str | None) -> None:
        """An admin writes it."""
        self.feeds["clusterqueues"].send("MODIFIED", self.store(SLACK, limit, "kubectl-edit"))

    @property
    def writes(self) -> list[str | None]:
        """The limits that were sent."""
        return [each[2].get("value") for each in self.calls if isinstance(each, list)]


class World:
    """The seeds' example: three nodes of 8 GPUs, two teams of 8 and a slack queue of 8."""

    def __init__(
        self,
        *,
        slack: JsonObject | None = None,
        queues: Iterable[JsonObject] = TEAMS,
        flavors: Iterable[JsonObject] = (raw_flavor(),),
        **settings: Any,
    ) -> None:
        self.clock = FakeClock()
        self.nodes = index_of([])
        self.events = Events()
        self.kueue = Kueue([*queues, slack or gpu_queue(SLACK, 8)], flavors)
        client: Any = self.kueue
        recorder: Any = self.events
        section = SlackQueue.model_validate({"name": SLACK} | settings)
        self.keeper = SlackKeeper(client, self.clock, self.nodes, section, recorder)
        self.registry = CollectorRegistry()
        show_slack_quota(self.registry, self.keeper)
        self.have(8, 8, 8)

    def have(self, *gpus: int) -> None:
        """The nodes have so many GPUs each."""
        for number, amount in enumerate(gpus):
            made = labelled_node(f"n{number}", allocatable={GPU: str(amount)})
            self.nodes.update(change(None, made), START)
        self.keeper.look()

    async def seconds(self, seconds: float) -> list[str | None]:
        """The limits that were sent by then, in all."""
        await self.clock.advance(seconds)
        return self.kueue.writes

    def value(self, name: str) -> float | None:
        labels = {"flavor": FLAVOR, "resource": GPU}
        return self.registry.get_sample_value(name, labels)

    @property
    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.events.told]


@asynccontextmanager
async def running(world: World) -> AsyncIterator[World]:
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
    async with running(World()) as world:
        assert await world.seconds(60) == []
        world.have(8, 8, 5)
        assert await world.seconds(1) == ["5"]
        world.have(8, 8, 8)
        assert await world.seconds(29) == ["5"]
        assert await world.seconds(3) == ["5", None]
        assert await world.seconds(600) == ["5", None]
    assert world.events.told == [
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


async def test_where_promises_exceed_what_is_schedulable_an_admin_hears_by_how_much() -> None:
    async with running(World()) as world:
        world.have(8, 5, 0)
        assert await world.seconds(2) == ["0"]
        assert ("Warning", "QuotaExceedsCapacity", TOO_MUCH) in world.events.told
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


async def test_a_node_that_flaps_every_5_seconds_causes_one_write() -> None:
    async with running(World()) as world:
        for beat in range(60):
            world.have(8, 8, 8 * (beat % 2))
            await world.seconds(5)
        assert world.kueue.writes == ["0"]
        assert world.reasons == ["SlackQuotaChanged"]


async def test_a_process_that_begins_raises_nothing_for_30_seconds() -> None:
    async with running(World(slack=gpu_queue(SLACK, 8, "2"))) as world:
        assert await world.seconds(28) == []
        assert await world.seconds(4) == [None]


@pytest.mark.parametrize("missing", ["clusterqueues", "resourceflavors"])
async def test_nothing_is_written_before_everything_is_read(missing: str) -> None:
    world = World(slack=gpu_queue(SLACK, 8, "2"))
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
    world = World()
    slack = world.kueue.queues.pop(SLACK)
    world.have(8, 8, 5)
    async with running(world):
        assert await world.seconds(300) == []
        assert world.value("appwrapper_slack_lending_limit") is None
        world.kueue.queues[SLACK] = slack
        slack["metadata"]["resourceVersion"] = "9"
        world.kueue.feeds["clusterqueues"].send("ADDED", slack)
        assert await world.seconds(1) == ["5"]
    said = [each for each in caplog.messages if "there is no" in each]
    assert said == [
        f"slack queue: there is no ClusterQueue {SLACK}, so no lending limit is adjusted. Create it"
        " (deploy/team/slack), or remove appwrapper.slackQueue.name"
    ]


async def test_without_a_cohort_nothing_is_written_and_that_is_said_once() -> None:
    async with running(World(slack=gpu_queue(SLACK, 8, cohort=""))) as world:
        world.have(8, 8, 5)
        assert await world.seconds(300) == []
        world.have(8, 8, 4)
        assert await world.seconds(300) == []
    assert world.events.told == [
        (
            "Warning",
            "SlackQueueWithoutCohort",
            f"ClusterQueue {SLACK} has no cohort, so it lends nothing and has no lendingLimit."
            " Set spec.cohortName (v1beta1: spec.cohort) to the cohort of the teams",
        )
    ]


async def test_a_dry_run_says_what_it_would_write_and_writes_nothing() -> None:
    async with running(World(dryRun=True)) as world:
        world.have(8, 5, 0)
        await world.seconds(600)
        assert world.value("appwrapper_slack_lendable") == 0
        assert world.value("appwrapper_slack_lending_limit") == 8
        world.kueue.edit("3")
        await world.seconds(60)
        assert world.kueue.calls == world.kueue.called("get_path")
    would = "slackQueue.dryRun: would set lendingLimit of nvidia.com/gpu in default-flavor to 0"
    rest = "13 schedulable, 16 promised by other ClusterQueues, nominalQuota 8)"
    assert world.events.told == [
        ("Warning", "QuotaExceedsCapacity", TOO_MUCH),
        ("Normal", "SlackQuotaDryRun", f"{would} (was unset; {rest}"),
        ("Normal", "SlackQuotaDryRun", f"{would} (was 3; {rest}"),
    ]


async def test_an_admins_edit_is_named_and_corrected() -> None:
    async with running(World()) as world:
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
        "kubectl-edit changed the lendingLimit of nvidia.com/gpu in default-flavor. The controller"
        " writes this field: to lend less, lower nominalQuota; to set it yourself, set"
        " appwrapper.slackQueue.dryRun",
    )
    assert [each for each in world.events.told if each[1] == "SlackQuotaEdited"] == [edited] * 2


async def test_an_admins_other_edits_are_no_edits_of_the_limit() -> None:
    async with running(World()) as world:
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
    async with running(World()) as world:
        world.kueue.fails = [error, error, error]
        world.have(8, 8, 5)
        assert await world.seconds(20) == ["5"] * 4
    assert world.reasons == ["SlackQuotaChanged"]
    pauses = [each.rpartition("; ")[2] for each in caplog.messages if "cannot be written" in each]
    assert pauses == ["again in 1 s", "again in 2 s", "again in 4 s"]


async def test_a_write_without_an_answer_may_have_been_one() -> None:
    async with running(World()) as world:
        world.kueue.fails = [Unreachable("no answer")]
        world.have(8, 8, 5)
        assert await world.seconds(9) == ["5"]
        assert await world.seconds(2) == ["5", "5"]


async def test_a_missing_right_is_said_once() -> None:
    async with running(World()) as world:
        world.kueue.fails = [Forbidden(403, "Forbidden", "no patch for you")] * 20
        world.have(8, 8, 5)
        await world.seconds(100)
        assert world.reasons == ["SlackQuotaForbidden"]
        world.kueue.fails.clear()
        await world.seconds(60)
        assert world.reasons == ["SlackQuotaForbidden", "SlackQuotaChanged"]


async def test_the_first_version_that_kueue_serves_is_used() -> None:
    world = World()
    world.kueue.answers["get_path"] = [
        NotFound(404, "NotFound", "no Kueue"),
        {"versions": [{"version": "v1"}]},
        {"versions": [{"version": "v1beta1"}]},
    ]
    async with running(world):
        await world.seconds(10)
        assert world.kueue.asked == {"v1beta1/clusterqueues", "v1beta1/resourceflavors"}


async def test_when_kueue_serves_its_api_in_another_version_it_is_asked_anew() -> None:
    world = World()
    world.kueue.answers["get_path"] = [{"versions": [{"version": "v1beta1"}]}, SERVED]
    async with running(world):
        assert {each[:7] for each in world.kueue.asked} == {"v1beta1"}
        world.kueue.unserved = True
        gone = NotFound(404, "NotFound", "the server could not find the requested resource")
        world.kueue.feeds["clusterqueues"].fail(gone)
        await settle()
        world.kueue.unserved = False
        world.kueue.feeds |= {"clusterqueues": WatchFeed(), "resourceflavors": WatchFeed()}
        await world.seconds(5)
        assert {each[:7] for each in world.kueue.asked} == {"v1beta1", "v1beta2"}
        world.have(8, 8, 5)
        assert await world.seconds(1) == ["5"]


async def test_what_changes_by_time_alone_is_noticed_within_30_seconds() -> None:
    """A node may become unschedulable with no event: nobody calls `look` then."""
    async with running(World()) as world:
        await world.seconds(60)
        gone = labelled_node("n2", allocatable={GPU: "5"})
        world.nodes.update(change(None, gone), START)
        assert await world.seconds(31) == ["5"]
