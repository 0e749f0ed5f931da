"""`appwrapper logs -f`: pods that start later, and the end of an attempt."""

from collections.abc import Callable
from typing import Any

import pytest

from cli.logs import following
from cli.logs.choosing import LogPod, log_pod
from cli.logs.following import ends_within
from cli.logs.ranks import PodRanks
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from tests.support.builders.explained.objects import RUNS, container, pod
from tests.support.fakes.log_session import train, world
from tests.support.fakes.logged_pods import LoggedPods, lines

ENDED = container({"terminated": {"exitCode": 0}})
CREATING = container({"waiting": {"reason": "ContainerCreating"}})


def put(client: LoggedPods, plural: str, *items: JsonObject) -> Callable[[], None]:
    def change() -> None:
        for each in items:
            client.put(plural, each)

    return change


def becomes(client: LoggedPods, phase: str, **fields: Any) -> Callable[[], None]:
    return put(client, "appwrappers", train(phase, **fields))


def over(*indices: int, **fields: Any) -> list[JsonObject]:
    return [pod(each, "Succeeded", containers=[ENDED], **fields) for each in indices]


def test_a_pod_that_starts_later_is_followed_from_its_start(logs: Any) -> None:
    client = world(train(), [pod(0, containers=[RUNS]), pod(1, "Pending", containers=[CREATING])])
    client.logs["train-0-x7k2p"] = [
        [lines("a"), put(client, "pods", pod(1, containers=[RUNS])), put(client, "pods", *over(0))],
        [],
    ]
    client.logs["train-1-x7k2p"] = [
        [lines("b", second=1), put(client, "pods", *over(1)), becomes(client, "Succeeded")],
        [],
    ]
    assert logs(client, "train", "-f") == (
        0,
        "r0 | a\nr1 | b\n",
        "note: train-1-x7k2p (rank 1): it has no log yet: ContainerCreating\n"
        "note: attempt 1 has ended: train is Succeeded\n",
    )
    assert client.queries("train-0-x7k2p")[0] == {"follow": "true", "tailLines": "10"}
    assert client.queries("train-1-x7k2p")[0] == {"follow": "true"}


def test_one_that_waits_is_followed_from_its_start(logs: Any) -> None:
    client = world(train("Suspended", attempt=0, pods=1), [])
    client.logs["train-0-x7k2p"] = [
        [lines("a"), put(client, "pods", *over(0)), becomes(client, "Succeeded", pods=1)],
        [],
    ]
    reads = LoggedPods.pages

    def pages(resource: Any, *arguments: Any, **options: Any) -> Any:
        if resource.plural == "pods" and "list pods" in " ".join(client.sent):  # the second list
            client.put("appwrappers", train(pods=1))
            client.put("pods", pod(0, containers=[RUNS]))
        return reads(client, resource, *arguments, **options)

    client.pages = pages  # type: ignore[method-assign]
    assert logs(client, "train", "-f") == (
        0,
        "a\n",
        "note: train is Suspended: its logs follow when attempt 1 begins\n"
        "note: attempt 1 has ended: train is Succeeded\n",
    )


def test_the_next_attempt_ends_it(logs: Any) -> None:
    client = world(train(pods=1), [pod(0, containers=[RUNS])])
    client.logs["train-0-x7k2p"] = [
        [lines("a"), becomes(client, "Running", attempt=2, pods=1)],
        [lines("a")],
    ]
    assert logs(client, "train", "-f")[1:] == (
        "a\n",
        "note: attempt 1 has ended: train is Running\n",
    )


def test_the_deletion_ends_it(logs: Any) -> None:
    client = world(train(pods=1), [pod(0, containers=[RUNS])])

    def delete() -> None:
        client.remove("pods", "train-0-x7k2p")
        client.remove("appwrappers", "train")

    client.logs["train-0-x7k2p"] = [[lines("a"), delete]]
    assert logs(client, "train", "-f") == (0, "a\n", "note: train was deleted\n")


def test_a_pod_that_is_kept_after_the_failure_holds_up_nothing(logs: Any) -> None:
    client = world(train(), [pod(each, containers=[RUNS]) for each in (0, 1)])
    client.logs["train-0-x7k2p"] = [[lines("a"), becomes(client, "Failed")], [lines("a")]]
    client.logs["train-1-x7k2p"] = [[lines("hangs")], [lines("hangs")]]
    code, out, err = logs(client, "train", "-f")
    assert (code, sorted(out.splitlines())) == (0, ["r0 | a", "r1 | hangs"])
    assert err == "note: attempt 1 has ended: train is Failed\n"


def test_one_that_has_ended_is_read_once(logs: Any) -> None:
    client = world(train("Succeeded", pods=1), over(0))
    client.logs["train-0-x7k2p"] = [[lines("a", "b")]]
    assert logs(client, "train", "-f") == (0, "a\nb\n", "")
    assert client.queries("train-0-x7k2p") == [{}]


def test_too_many_pods_are_not_all_followed(logs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_STREAMS", 1)
    client = world(train(), [pod(each, containers=[RUNS]) for each in (0, 1)])
    client.logs["train-0-x7k2p"] = [[lines("a"), becomes(client, "Failed")], [lines("a")]]
    code, out, err = logs(client, "train", "-f")
    assert (code, out) == (0, "r0 | a\n")
    assert err.startswith(
        "note: more than 1 pods run, and only 1 are followed: choose with --rank or --pod\n"
    )


def test_a_missing_right_ends_it(logs: Any) -> None:
    client = world(train(), [pod(0, containers=[RUNS])])
    reads = LoggedPods.pages

    def pages(resource: Any, *arguments: Any, **options: Any) -> Any:
        if "list pods" in " ".join(client.sent):
            client.forbidden = {"pods"}
        return reads(client, resource, *arguments, **options)

    client.pages = pages  # type: ignore[method-assign]
    assert logs(client, "train", "-f") == (2, "", "error: 403 Forbidden: pods is forbidden\n")


ASKED = AppWrapper(train())
ANOTHER = train()
ANOTHER["metadata"] = {**ANOTHER["metadata"], "uid": "another"}


def seen(*items: JsonObject) -> list[LogPod]:
    return [log_pod(each, PodRanks({}, 0)) for each in items]


ONE_RUNS = seen(pod(0, containers=[RUNS]), *over(1))


@pytest.mark.parametrize(
    ("present", "pods", "expected"),
    [
        (None, ONE_RUNS, 2.0),
        (ANOTHER, ONE_RUNS, 2.0),
        (train("Succeeded"), ONE_RUNS, 2.0),
        (train("Failed"), ONE_RUNS, 2.0),
        (train("Running", attempt=2), ONE_RUNS, 2.0),
        (train("Resetting"), [], 2.0),
        (train("Resetting"), ONE_RUNS, None),  # its pods still print while they are deleted
        (train("Terminating"), [], 2.0),
        (train(), [], None),
        (train(), ONE_RUNS, None),
        (train(), seen(*over(0, 1)), 15.0),
        (train(), seen(*over(0)), None),  # the other pod is still to come
        (train("Suspended", attempt=0), [], None),
        (train("Resetting", attempt=0), [], None),  # the next attempt is awaited
    ],
)
def test_when_an_attempt_ends(
    present: JsonObject | None, pods: list[LogPod], expected: float | None
) -> None:
    assert ends_within(present, ASKED, 1, pods) == expected
