"""One container's log, over any number of streams."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from cli.logs.choosing import LogPod, log_pod
from cli.logs.ranks import PodRanks
from cli.logs.streams import LogReader
from shared.api.objects import JsonObject
from shared.kube.client import ApiError, Forbidden, Unreachable
from tests.support.builders.explained.objects import NOW, RUNS, container, pod
from tests.support.fakes.logged_pods import HurryingClock, LoggedPods, Stream, lines

NO_ROUTE = "dial tcp 10.0.0.7:10250: no route to host"
GONE_NODE = ApiError(
    500, "Unknown", f'Get "https://10.0.0.7:10250/containerLogs/p/main?follow=true": {NO_ROUTE}'
)
ENDED = container({"terminated": {"exitCode": 0}})
POD = log_pod(pod(0, containers=[RUNS]), PodRanks({}, 0))


def reading(*streams: Stream, **options: Any) -> tuple[LogReader, LoggedPods, list[str]]:
    client = LoggedPods({"pods": [pod(0, containers=[RUNS])]})
    client.logs[POD.name] = list(streams)
    notes: list[str] = []

    def note(_: LogPod, why: str) -> None:
        notes.append(why)

    reader = LogReader(
        client=client, clock=HurryingClock(NOW), namespace="team1", note=note, **options
    )
    return reader, client, notes


def ends(client: LoggedPods, item: JsonObject | None = None) -> Callable[[], None]:
    """The container ends while its log is read."""
    return lambda: client.put("pods", item or pod(0, "Succeeded", containers=[ENDED]))


def followed(reader: LogReader, *, from_start: bool = False) -> list[str]:
    async def all_of_it() -> list[str]:
        return [line.text async for line in reader.follow(POD, from_start=from_start)]

    return asyncio.run(all_of_it())


def once(reader: LogReader) -> list[str]:
    async def all_of_it() -> list[str]:
        return [line.text async for line in reader.once(POD)]

    return asyncio.run(all_of_it())


def test_the_lines_so_far_with_the_last_one_unfinished() -> None:
    reader, client, notes = reading([lines("a", "b")[:-1]], tail=10, since_seconds=60)
    assert (once(reader), notes) == (["a", "b"], [])
    assert client.asked == [
        (
            POD.name,
            {"container": "main", "timestamps": "true", "tailLines": "10", "sinceSeconds": "60"},
        )
    ]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            ApiError(400, "BadRequest", 'container "main" is waiting to start: ErrImagePull'),
            'container "main" is waiting to start: ErrImagePull',
        ),
        (GONE_NODE, f"its node does not answer ({NO_ROUTE})"),
        (Unreachable("no answer in time"), "the API server does not answer (no answer in time)"),
    ],
)
def test_a_log_that_cannot_be_read_is_noted(error: Any, why: str) -> None:
    reader, _, notes = reading([lines("a"), error])
    assert (once(reader), notes) == (["a"], [why])


def test_a_missing_right_ends_the_command() -> None:
    reader, _, _ = reading([Forbidden(403, "Forbidden", "pods/log")])
    with pytest.raises(Forbidden):
        once(reader)
    with pytest.raises(Forbidden):
        followed(reader)


def test_a_cut_stream_continues_without_a_line_lost_or_twice() -> None:
    reader, client, notes = reading(tail=10)
    client.logs[POD.name] = [
        [lines("a", "b"), lines("c", second=2)[:20], Unreachable("reset by peer")],
        [lines("b", "c", second=1)],  # a proxy ended it, without an error
        [lines("c", "d", second=2), ends(client)],
        [lines("d", "e", second=3)[:-1]],
    ]
    assert followed(reader) == ["a", "b", "c", "d", "e"]
    assert notes == []
    since = [each.get("sinceTime", "")[:19] for each in client.queries(POD.name)]
    assert since == ["", *(f"2026-03-02T14:00:0{each}" for each in (1, 2, 3))]
    first, *others = client.queries(POD.name)
    assert first == {"follow": "true", "tailLines": "10"}
    assert [each.get("follow") for each in others] == ["true", "true", None]
    assert not any("tailLines" in each for each in others)


def test_a_failure_before_the_first_line_keeps_the_options() -> None:
    reader, client, _ = reading(tail=10)
    client.logs[POD.name] = [[GONE_NODE], [GONE_NODE], [lines("a"), ends(client)], [lines("a")]]
    assert followed(reader) == ["a"]
    asked = {"follow": "true", "tailLines": "10"}
    assert client.queries(POD.name)[:3] == [asked, asked, asked]
    clock = reader.clock
    assert isinstance(clock, HurryingClock)
    assert clock.slept == [0.5, 1.0]


def test_one_problem_is_noted_once() -> None:
    reader, client, notes = reading()
    gone: Stream = [GONE_NODE]
    client.logs[POD.name] = [gone, gone, gone, [lines("a"), ends(client)], []]
    followed(reader)
    assert notes == [f"its node does not answer ({NO_ROUTE}); the command tries again"]


def test_a_pod_that_began_later_is_read_from_its_start() -> None:
    reader, client, _ = reading(tail=10, since_seconds=60)
    client.logs[POD.name] = [[lines("a"), ends(client)], []]
    assert followed(reader, from_start=True) == ["a"]
    assert client.queries(POD.name)[0] == {"follow": "true"}


def test_a_deleted_pod_ends_its_log() -> None:
    reader, client, notes = reading()
    client.logs[POD.name] = [[lines("a"), lambda: client.remove("pods", POD.name)]]
    assert (followed(reader), notes) == (["a"], [])
    another = pod(0, containers=[RUNS], metadata={"uid": "another"})
    reader, client, _ = reading()
    client.logs[POD.name] = [[lines("a"), ends(client, another)], [lines("x", second=50)]]
    assert followed(reader) == ["a"]


def test_a_container_that_restarts_is_followed_further() -> None:
    reader, client, _ = reading()
    policy = {"restartPolicy": "OnFailure"}
    waits = container({"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=1)
    crashing = pod(0, containers=[waits], spec=policy)
    client.logs[POD.name] = [
        [lines("a"), ends(client, crashing)],
        [lines("a")],
        [lines("a", "b"), ends(client)],
        [lines("b", second=1)],
    ]
    assert followed(reader) == ["a", "b"]
