import asyncio
from typing import Any

import pytest

from shared.api.objects import GroupVersionKind, Resource
from shared.kube.client import ApiError, NotFound, Unreachable
from shared.kube.discovery import Discovery, UnknownKind
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube

JOB = GroupVersionKind("batch", "v1", "Job")
CRON_JOB = GroupVersionKind("batch", "v1", "CronJob")
NODE = GroupVersionKind("", "v1", "Node")
MISSING = NotFound(404, "NotFound", "the server could not find the requested resource")


def resources(*entries: tuple[str, str, bool]) -> dict[str, Any]:
    return {
        "kind": "APIResourceList",
        "resources": [
            {"name": name, "kind": kind, "namespaced": namespaced}
            for name, kind, namespaced in entries
        ],
    }


BATCH = resources(("jobs", "Job", True), ("jobs/status", "Job", True))
BOTH = resources(("jobs", "Job", True), ("cronjobs", "CronJob", True))
CORE = resources(("nodes", "Node", False), ("pods/eviction", "Eviction", True))


def kube(*answers: object) -> FakeKube:
    return FakeKube(answers={"get_path": list(answers)})


def paths(client: FakeKube) -> list[str]:
    return [call.args[0] for call in client.called("get_path")]


async def test_one_request_answers_for_all_kinds_of_a_version_indefinitely() -> None:
    client = kube(resources(("jobs", "Job", True), ("cronjobs", "CronJob", True)))
    clock = FakeClock()
    discovery = Discovery(client, clock)
    assert await discovery.resource_for(JOB) == Resource("batch", "v1", "jobs", "Job")
    clock.pass_by(1e9)
    assert await discovery.resource_for(CRON_JOB) == Resource("batch", "v1", "cronjobs", "CronJob")
    assert paths(client) == ["/apis/batch/v1"]


async def test_the_core_group_and_cluster_wide_kinds() -> None:
    client = kube(CORE)
    found = await Discovery(client, FakeClock()).resource_for(NODE)
    assert found == Resource("", "v1", "nodes", "Node", namespaced=False)
    assert paths(client) == ["/api/v1"]


async def test_a_subresource_is_no_kind() -> None:
    discovery = Discovery(kube(CORE), FakeClock())
    with pytest.raises(UnknownKind) as raised:
        await discovery.resource_for(GroupVersionKind("", "v1", "Eviction"))
    assert str(raised.value) == 'no matches for kind "Eviction" in version "v1"'


async def test_a_group_that_is_not_served_is_read_each_time() -> None:
    client = kube(MISSING, BATCH)
    discovery = Discovery(client, FakeClock())
    with pytest.raises(UnknownKind) as raised:
        await discovery.resource_for(JOB)
    assert str(raised.value) == (
        'no matches for kind "Job" in version "batch/v1"; is its CRD installed?'
    )
    assert raised.value.gvk == JOB
    assert await discovery.resource_for(JOB) == Resource("batch", "v1", "jobs", "Job")


@pytest.mark.parametrize(
    ("settings", "waited", "questions"),
    [
        ({}, 4.9, 1),
        ({}, 5.0, 2),
        ({"negative_seconds": 30.0}, 29.9, 1),
        ({"negative_seconds": 30.0}, 30.0, 2),
    ],
)
async def test_a_kind_that_is_not_served_is_read_again_after_a_time(
    settings: dict[str, float], waited: float, questions: int
) -> None:
    client = kube(BATCH, BATCH)
    clock = FakeClock()
    discovery = Discovery(client, clock, **settings)
    for _ in range(2):
        with pytest.raises(UnknownKind):
            await discovery.resource_for(CRON_JOB)
        clock.pass_by(waited)
    assert len(paths(client)) == questions


async def test_a_failure_of_discovery_is_no_answer() -> None:
    broken = ApiError(503, "ServiceUnavailable", "m")
    discovery = Discovery(kube(broken, BATCH), FakeClock())
    with pytest.raises(ApiError) as raised:
        await discovery.resource_for(JOB)
    assert raised.value == broken
    assert (await discovery.resource_for(JOB)).plural == "jobs"


async def test_all_who_ask_at_once_share_one_question() -> None:
    client = kube(BATCH)
    discovery = Discovery(client, FakeClock())
    found = await asyncio.gather(*[discovery.resource_for(JOB) for _ in range(10)])
    assert {resource.plural for resource in found} == {"jobs"}
    assert len(paths(client)) == 1


async def test_a_remembered_no_is_read_again_before_an_irreversible_action() -> None:
    """A CRD that was established a moment after the version was read."""
    client = kube(BATCH, BOTH)
    discovery = Discovery(client, FakeClock())
    for _ in range(2):
        with pytest.raises(UnknownKind):
            await discovery.resource_for(CRON_JOB)
    assert (await discovery.resource_for(CRON_JOB, since=discovery.moment())).plural == "cronjobs"
    assert len(paths(client)) == 2
    assert (await discovery.resource_for(CRON_JOB)).plural == "cronjobs"
    assert len(paths(client)) == 2


async def test_each_read_of_a_kind_that_is_not_served_gives_the_same_answer() -> None:
    client = kube(BATCH, BATCH)
    discovery = Discovery(client, FakeClock())
    for _ in range(2):
        with pytest.raises(UnknownKind) as raised:
            await discovery.resource_for(CRON_JOB, since=discovery.moment())
        assert str(raised.value) == 'no matches for kind "CronJob" in version "batch/v1"'
    assert len(paths(client)) == 2


async def test_several_questions_of_one_moment_are_asked_once() -> None:
    client = kube(BATCH)
    discovery = Discovery(client, FakeClock())
    since = discovery.moment()
    for _ in range(8):
        with pytest.raises(UnknownKind):
            await discovery.resource_for(CRON_JOB, since=since)
    assert len(paths(client)) == 1


async def test_a_yes_is_not_read_again() -> None:
    client = kube(BATCH)
    discovery = Discovery(client, FakeClock())
    for since in (None, discovery.moment()):
        assert (await discovery.resource_for(JOB, since=since)).plural == "jobs"
    assert len(paths(client)) == 1


class SlowServer:
    """Says what it served when it was asked; its answers arrive one at a time, when told to."""

    def __init__(self) -> None:
        self.serves = BATCH
        self.asked = 0
        self.arrive = asyncio.Semaphore(0)

    async def get_path(self, path: str) -> dict[str, Any]:
        self.asked += 1
        answer = self.serves
        await self.arrive.acquire()
        return answer


async def test_readers_during_a_request_share_the_next_one() -> None:
    """That one may have been answered before the CRD was established."""
    server: Any = SlowServer()
    discovery = Discovery(server, FakeClock())
    early = asyncio.create_task(discovery.resource_for(CRON_JOB))
    await asyncio.sleep(0)
    server.serves = BOTH
    late = [
        asyncio.create_task(discovery.resource_for(CRON_JOB, since=discovery.moment()))
        for _ in range(10)
    ]
    await asyncio.sleep(0)
    server.arrive.release()
    with pytest.raises(UnknownKind):
        await early
    server.arrive.release()
    assert {(await each).plural for each in late} == {"cronjobs"}
    assert server.asked == 2


async def test_readers_who_get_a_no_share_it() -> None:
    server: Any = SlowServer()
    discovery = Discovery(server, FakeClock())
    asking = [
        asyncio.create_task(discovery.resource_for(CRON_JOB, since=discovery.moment()))
        for _ in range(10)
    ]
    await asyncio.sleep(0)
    for _ in range(10):
        server.arrive.release()
    heard = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(each) for each in heard] == [UnknownKind] * 10
    assert server.asked == 1


async def test_nothing_is_kept_of_what_is_not_served() -> None:
    broken = ApiError(503, "ServiceUnavailable", "m")
    discovery = Discovery(kube(MISSING, broken, BATCH), FakeClock())
    for version in ("v7", "v8"):
        with pytest.raises((UnknownKind, ApiError)):
            await discovery.resource_for(GroupVersionKind("batch", version, "Job"))
    await discovery.resource_for(JOB)
    assert set(discovery._locks) == {("batch", "v1")}


async def test_a_forgotten_answer_is_read_again() -> None:
    client = kube(BATCH, MISSING)
    discovery = Discovery(client, FakeClock())
    await discovery.resource_for(JOB)
    discovery.forget(JOB)
    with pytest.raises(UnknownKind):
        await discovery.resource_for(JOB)


@pytest.mark.parametrize(
    "gvk",
    [
        GroupVersionKind("batch", "v1", ""),
        GroupVersionKind("", "", "Pod"),
        GroupVersionKind("a/../../secrets", "v1", "Pod"),
        GroupVersionKind("batch", "v1?x=y", "Job"),
        GroupVersionKind("..", "v1", "Job"),
    ],
)
async def test_a_malformed_kind_causes_no_request(gvk: GroupVersionKind) -> None:
    with pytest.raises(UnknownKind, match="that is no kind of any API"):
        await Discovery(kube(), FakeClock()).resource_for(gvk)


def group(*versions: str, preferred: str) -> dict[str, Any]:
    return {
        "versions": [{"groupVersion": f"batch/{each}", "version": each} for each in versions],
        "preferredVersion": {"groupVersion": f"batch/{preferred}", "version": preferred},
    }


ABSENT = resources(("others", "Other", True))


async def test_a_served_version_is_found_without_asking_for_others() -> None:
    client = kube(BATCH)
    discovery = Discovery(client, FakeClock())
    for _ in range(2):
        assert await discovery.in_any_version(JOB) == Resource("batch", "v1", "jobs", "Job")
    assert paths(client) == ["/apis/batch/v1"]


@pytest.mark.parametrize(
    ("preferred", "answers", "found", "asked"),
    [
        ("v2", [BATCH], "v2", ["v2"]),
        ("v3", [BATCH], "v3", ["v3"]),
        ("v3", [ABSENT, BATCH], "v2", ["v3", "v2"]),
        ("v3", [MISSING, BATCH], "v2", ["v3", "v2"]),
    ],
)
async def test_a_kind_whose_version_is_not_served_is_found_in_the_preferred_or_the_next_version(
    preferred: str, answers: list[Any], found: str, asked: list[str]
) -> None:
    client = kube(MISSING, group("v2", "v3", preferred=preferred), *answers)
    resource = await Discovery(client, FakeClock()).in_any_version(JOB)
    assert resource == Resource("batch", found, "jobs", "Job")
    assert paths(client) == ["/apis/batch/v1", "/apis/batch", *(f"/apis/batch/{x}" for x in asked)]


async def test_a_kind_that_is_dropped_from_a_served_version_is_found_in_another() -> None:
    client = kube(BOTH, BATCH, group("v1", "v2", preferred="v1"), BOTH)
    discovery = Discovery(client, FakeClock(), negative_seconds=60)
    assert (await discovery.in_any_version(CRON_JOB)).version == "v1"
    discovery.forget(CRON_JOB)
    assert (await discovery.in_any_version(CRON_JOB)).version == "v2"


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([MISSING, MISSING], ["/apis/batch/v1", "/apis/batch"]),
        (
            [MISSING, group("v2", preferred="v2"), ABSENT],
            ["/apis/batch/v1", "/apis/batch", "/apis/batch/v2"],
        ),
    ],
)
async def test_a_kind_that_no_version_serves_is_unknown(
    answers: list[Any], asked: list[str]
) -> None:
    client = kube(*answers)
    with pytest.raises(UnknownKind, match='no matches for kind "Job" in version "batch/v1"'):
        await Discovery(client, FakeClock()).in_any_version(JOB)
    assert paths(client) == asked


@pytest.mark.parametrize("failing", [0, 1, 2])
async def test_a_discovery_that_fails_never_means_that_no_version_is_served(failing: int) -> None:
    away = ApiError(503, "ServiceUnavailable", "the aggregated API server is away")
    answers: list[Any] = [MISSING, group("v2", preferred="v2"), BATCH]
    answers[failing] = away
    with pytest.raises(ApiError, match="is away"):
        await Discovery(kube(*answers), FakeClock()).in_any_version(JOB)


async def test_the_core_group_has_one_version() -> None:
    client = kube(MISSING, CORE)
    found = await Discovery(client, FakeClock()).in_any_version(GroupVersionKind("", "v2", "Node"))
    assert found == Resource("", "v1", "nodes", "Node", namespaced=False)
    assert paths(client) == ["/api/v2", "/api/v1"]


async def test_a_malformed_group_causes_no_request_in_any_version() -> None:
    with pytest.raises(UnknownKind, match="that is no kind of any API"):
        await Discovery(kube(), FakeClock()).in_any_version(GroupVersionKind("../x", "v1", "Pod"))


async def test_an_answer_that_was_overtaken_changes_nothing() -> None:
    """What was asked before a CRD came, or while its version was away, and is answered late."""
    calls: list[asyncio.Future[dict[str, Any]]] = []

    class Late:
        async def get_path(self, path: str) -> dict[str, Any]:
            calls.append(asyncio.get_running_loop().create_future())
            return await calls[-1]

    server: Any = Late()
    discovery = Discovery(server, FakeClock())
    asked = [asyncio.create_task(discovery._read(CRON_JOB)) for _ in range(3)]
    await asyncio.sleep(0)
    calls[2].set_result(BOTH)
    await asked[2]
    calls[0].set_result(BATCH)
    calls[1].set_exception(NotFound(404, "NotFound", "m"))
    await asked[0]
    with pytest.raises(UnknownKind):
        await asked[1]
    assert (await discovery.resource_for(CRON_JOB)).plural == "cronjobs"
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("answers", "path", "missing"),
    [
        ([{"resources": [{"name": "widgets", "kind": "Widget"}]}], "/v1", "'namespaced'"),
        ([MISSING, {"versions": []}], "", "'preferredVersion'"),
    ],
)
async def test_an_answer_that_is_no_discovery_is_an_error_of_the_api(
    answers: list[object], path: str, missing: str
) -> None:
    discovery = Discovery(kube(*answers), FakeClock())
    with pytest.raises(Unreachable) as error:
        await discovery.in_any_version(GroupVersionKind("example.org", "v1", "Widget"))
    text = f"the answer about /apis/example.org{path} is no API discovery: KeyError({missing})"
    assert str(error.value) == text
