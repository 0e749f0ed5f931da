import asyncio

import pytest

from shared.api.objects import GroupVersionKind
from shared.kube.client import ApiError, Forbidden, KubeError, TooManyRequests, Unreachable
from tests.support.fakes.access_server import AccessServer, Answer, after, allowed, never, status
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock
from webhook.admission_review import User
from webhook.gather.access_reviews import AccessReviews
from webhook.rules.submission import CannotGather

ALICE = User("alice", "42", ("team1-edit-group", "system:authenticated"), {"scopes": ("a", "b")})
POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
STATEFUL_SET = GroupVersionKind("apps", "v1", "StatefulSet")
JOB = GroupVersionKind("batch", "v1", "Job")
NODE = GroupVersionKind("", "v1", "Node")
TRAIN_JOB = GroupVersionKind("trainer.example.com", "v1", "TrainJob")
CRON_JOB = GroupVersionKind("batch", "v1", "CronJob")


async def denied(
    server: AccessServer, *kinds: GroupVersionKind, clock: FakeClock | None = None
) -> dict[GroupVersionKind, str]:
    reviews = AccessReviews(server, clock or FakeClock())  # type: ignore[arg-type]
    return await reviews.denied_creations(ALICE, "team1", kinds)


def cannot_create(resource: str, group: str) -> str:
    return (
        f'User "alice" cannot create resource "{resource}" in API group "{group}" '
        'in the namespace "team1"'
    )


async def test_pods_yes_deployments_no() -> None:
    found = await denied(AccessServer(allowed("pods")), POD, DEPLOYMENT)
    assert found == {DEPLOYMENT: cannot_create("deployments", "apps")}


async def test_each_kind_causes_one_access_review() -> None:
    server = AccessServer(allowed("pods"))
    await denied(server, POD)
    assert server.specs == [
        {
            "resourceAttributes": {
                "verb": "create",
                "group": "",
                "version": "v1",
                "resource": "pods",
                "namespace": "team1",
            },
            "user": "alice",
            "uid": "42",
            "groups": ["team1-edit-group", "system:authenticated"],
            "extra": {"scopes": ["a", "b"]},
        }
    ]


async def test_a_user_with_only_a_name_is_reviewed_by_name() -> None:
    server = AccessServer(allowed("pods"))
    reviews = AccessReviews(server, FakeClock())  # type: ignore[arg-type]
    await reviews.denied_creations(User("bob", ""), "team1", [POD])
    assert set(server.specs[0]) == {"resourceAttributes", "user"}


async def test_the_reason_that_the_api_server_gives_is_handed_on() -> None:
    server = AccessServer(status(allowed=False, denied=True, reason="a webhook says no"))
    assert await denied(server, POD) == {POD: f"{cannot_create('pods', '')}: a webhook says no"}


async def test_one_review_per_resource() -> None:
    server = AccessServer(allowed("pods", "deployments"))
    await denied(server, POD, DEPLOYMENT, POD, DEPLOYMENT)
    asked = [spec["resourceAttributes"]["resource"] for spec in server.specs]
    assert asked == ["pods", "deployments"]
    assert server.discovered == ["/api/v1", "/apis/apps/v1"]


@pytest.mark.parametrize("kind", [TRAIN_JOB, CRON_JOB, GroupVersionKind("a/b", "v1", "Pod")])
async def test_for_a_kind_that_is_not_served_the_whole_group_is_reviewed(
    kind: GroupVersionKind,
) -> None:
    server = AccessServer(allowed())
    assert await denied(server, kind) == {kind: cannot_create("*", kind.group)}
    assert server.specs[0]["resourceAttributes"] == {
        "verb": "create",
        "group": kind.group,
        "version": "v1",
        "resource": "*",
        "namespace": "team1",
    }


@pytest.mark.parametrize(("waited", "questions"), [(29.9, 1), (30.0, 2)])
async def test_a_kind_that_a_version_lacks_is_looked_up_again_after_half_a_minute(
    waited: float, questions: int
) -> None:
    server, clock = AccessServer(allowed()), FakeClock()
    reviews = AccessReviews(server, clock)  # type: ignore[arg-type]
    await reviews.denied_creations(ALICE, "team1", [CRON_JOB])
    clock.pass_by(waited)
    await reviews.denied_creations(ALICE, "team1", [CRON_JOB])
    assert server.discovered == ["/apis/batch/v1"] * questions


async def test_a_group_that_is_not_served_is_looked_up_each_time() -> None:
    server = AccessServer(allowed())
    reviews = AccessReviews(server, FakeClock())  # type: ignore[arg-type]
    for _ in range(2):
        await reviews.denied_creations(ALICE, "team1", [TRAIN_JOB])
    assert server.discovered == ["/apis/trainer.example.com/v1"] * 2


async def test_a_cluster_scoped_kind_needs_rights_in_the_whole_cluster() -> None:
    server = AccessServer(allowed())
    assert await denied(server, NODE) == {
        NODE: 'User "alice" cannot create resource "nodes" in API group "" at the cluster scope'
    }
    assert server.specs[0]["resourceAttributes"]["namespace"] == ""


@pytest.mark.parametrize("answer", [True, False])
async def test_an_admin_may_do_everything_everywhere(answer: bool) -> None:
    server = AccessServer(status(allowed=answer))
    reviews = AccessReviews(server, FakeClock())  # type: ignore[arg-type]
    assert await reviews.is_admin(ALICE) is answer
    assert server.specs[0]["resourceAttributes"] == {
        "verb": "*",
        "group": "*",
        "version": "*",
        "resource": "*",
        "namespace": "",
    }


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Forbidden(403, "Forbidden", "no reviews for you"), "403 Forbidden: no reviews for you"),
        (ApiError(500, "InternalError", "etcd is away"), "500 InternalError: etcd is away"),
        (Unreachable("connection refused"), "connection refused"),
        (status(allowed=False, evaluationError="the authorizer is away"), "the authorizer is away"),
        (status(), "the answer is neither yes nor no"),
        (status(allowed="true"), "the answer is neither yes nor no"),
    ],
)
async def test_no_certain_answer_is_no_answer(answer: Answer | KubeError, message: str) -> None:
    with pytest.raises(CannotGather) as raised:
        await denied(AccessServer(answer), POD)
    assert str(raised.value) == f'whether user "alice" may create pods: {message}'


async def test_a_yes_counts_in_spite_of_an_error_on_the_way() -> None:
    assert await denied(AccessServer(status(allowed=True, evaluationError="e")), POD) == {}


async def test_discovery_that_fails_is_no_unknown_kind() -> None:
    server = AccessServer(allowed("*"))
    server.discovery_error = ApiError(503, "ServiceUnavailable", "later")
    with pytest.raises(CannotGather) as raised:
        await denied(server, JOB)
    assert str(raised.value) == (
        "the resource of batch/v1 Job could not be looked up: 503 ServiceUnavailable: later"
    )


async def test_a_connection_that_broke_is_tried_once_more() -> None:
    assert await denied(AccessServer(Unreachable("closed"), allowed("pods")), POD) == {}


@pytest.mark.parametrize(("seconds", "fails"), [(1.9, False), (2.1, True)])
async def test_one_review_may_take_two_seconds(seconds: float, fails: bool) -> None:
    clock = FakeClock()
    task = asyncio.create_task(
        denied(AccessServer(after(clock, seconds, allowed("pods"))), POD, clock=clock)
    )
    await clock.advance(3)
    assert isinstance(task.exception(), CannotGather) is fails
    if fails:
        text = 'whether user "alice" may create pods: no answer within 2 s'
        assert str(task.exception()) == text


def kinds(count: int) -> list[GroupVersionKind]:
    """So many that nobody serves, each of a group of its own."""
    return [GroupVersionKind(f"g{index}.example.com", "v1", "K") for index in range(count)]


@pytest.mark.parametrize(("count", "at_once", "seconds"), [(8, 8, 1.5), (9, 8, 3.0)])
async def test_at_most_eight_reviews_at_once(count: int, at_once: int, seconds: float) -> None:
    clock = FakeClock()
    server = AccessServer(after(clock, 1.5, allowed("*")))
    task = asyncio.create_task(denied(server, *kinds(count), clock=clock))
    await clock.advance(seconds - 0.1)
    assert not task.done()
    await clock.advance(0.1)
    assert task.result() == {}
    assert server.most_at_once == at_once


@pytest.mark.parametrize(("count", "fails"), [(16, False), (17, True)])
async def test_all_together_may_take_four_seconds(count: int, fails: bool) -> None:
    clock = FakeClock()
    server = AccessServer(after(clock, 1.9, allowed("*")))
    task = asyncio.create_task(denied(server, *kinds(count), clock=clock))
    await clock.advance(3.9)
    assert task.done() is not fails
    await clock.advance(0.1)
    assert isinstance(task.exception(), CannotGather) is fails
    if fails:
        assert str(task.exception()) == (
            "the API server did not report what the user may do: no answer within 4 s"
        )


async def test_the_first_failure_ends_the_rest() -> None:
    clock = FakeClock()
    broken = ApiError(500, "InternalError", "e")
    server = AccessServer(never, broken, broken)
    with pytest.raises(CannotGather):
        await denied(server, POD, JOB, clock=clock)
    assert server.most_at_once == 1
    await clock.advance(10)
    assert len(server.specs) == 2


def busy(seconds: float | None) -> TooManyRequests:
    return TooManyRequests(429, "TooManyRequests", "later", seconds)


@pytest.mark.parametrize(
    ("asked", "slept"), [(None, [1.0]), (0.0, [0.1]), (2.5, [2.5]), (3.9, [3.9])]
)
async def test_a_busy_api_server_is_obeyed(asked: float | None, slept: list[float]) -> None:
    clock = ImpatientClock()
    assert await denied(AccessServer(busy(asked), allowed("pods")), POD, clock=clock) == {}
    assert clock.slept == slept


@pytest.mark.parametrize(("asked", "reviews"), [(4.0, 1), (1.5, 3), (0.0, 40)])
async def test_who_is_put_off_for_longer_than_there_is_time_cannot_answer(
    asked: float, reviews: int
) -> None:
    clock = ImpatientClock()
    server = AccessServer(busy(asked))
    with pytest.raises(CannotGather) as raised:
        await denied(server, POD, clock=clock)
    text = 'whether user "alice" may create pods: 429 TooManyRequests: later'
    assert (str(raised.value), len(server.specs)) == (text, reviews)
    assert clock.monotonic() < 4


def test_the_limits_leave_room_in_the_api_servers_own() -> None:
    """The registration's timeoutSeconds is 10; a mutation asks once, a validation once."""
    from webhook.gather import access_reviews, gatherer

    assert access_reviews.SECONDS_IN_ALL + gatherer.SECONDS <= 6
