"""The answer "allowed" serves identical reviews for 2 seconds; no other answer does."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from shared.api.objects import GroupVersionKind
from shared.kube.client import ApiError, KubeError, TooManyRequests, Unreachable
from tests.support.fakes.access_server import AccessServer, Answer, after, never, status
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock
from webhook.admission_review import User
from webhook.gather.access_reviews import MOST_SHARED, Access, AccessReviews
from webhook.rules.submission import CannotGather

ALICE = User("alice", "42", ("team1-edit-group", "system:authenticated"), {"scopes": ("a", "b")})
POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
YES, NO = status(allowed=True), status(allowed=False)
REFUSED = {
    POD: 'User "alice" cannot create resource "pods" in API group "" in the namespace "team1"'
}
BROKEN = ApiError(500, "InternalError", "etcd is away")


def reviews_of(server: AccessServer, clock: FakeClock | None = None) -> AccessReviews:
    return AccessReviews(server, clock or FakeClock())  # type: ignore[arg-type]


async def asked(reviews: AccessReviews, user: User = ALICE) -> dict[GroupVersionKind, str]:
    return await reviews.denied_creations(user, "team1", [POD])


@pytest.mark.parametrize(("waited", "sent"), [(0.0, 1), (1.9, 1), (2.0, 2)])
async def test_an_allowed_review_serves_identical_ones_for_two_seconds(
    waited: float, sent: int
) -> None:
    server, clock = AccessServer(YES, NO), FakeClock()
    reviews = reviews_of(server, clock)
    assert await asked(reviews) == {}
    clock.pass_by(waited)
    assert await asked(reviews) == ({} if sent == 1 else REFUSED)
    assert len(server.specs) == sent


@pytest.mark.parametrize(("waited", "sent"), [(0.4, 1), (0.5, 2)])
async def test_the_two_seconds_begin_when_the_review_is_sent(waited: float, sent: int) -> None:
    clock = FakeClock()
    server = AccessServer(after(clock, 1.5, YES), NO)
    reviews = reviews_of(server, clock)
    first = asyncio.create_task(asked(reviews))
    await clock.advance(1.5)
    assert await first == {}
    clock.pass_by(waited)
    assert await asked(reviews) == ({} if sent == 1 else REFUSED)
    assert len(server.specs) == sent


async def test_two_seconds_after_another_send_begin_with_that_send() -> None:
    """A retry counts from the retry, which is what the API server has answered."""
    clock = ImpatientClock()
    server = AccessServer(TooManyRequests(429, "TooManyRequests", "later", 1.5), YES, NO)
    reviews = reviews_of(server, clock)
    assert await asked(reviews) == {}
    clock.pass_by(1.9)
    assert await asked(reviews) == {}
    clock.pass_by(0.1)
    assert await asked(reviews) == REFUSED


async def test_no_use_prolongs_the_two_seconds() -> None:
    server, clock = AccessServer(YES, NO), FakeClock()
    reviews = reviews_of(server, clock)
    for _ in range(4):
        assert await asked(reviews) == {}
        clock.pass_by(0.5)
    assert await asked(reviews) == REFUSED


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(ALICE, name="bob"), id="name"),
        pytest.param(replace(ALICE, uid="43"), id="uid"),
        pytest.param(replace(ALICE, uid=""), id="no uid"),
        pytest.param(replace(ALICE, groups=("system:authenticated",)), id="one group less"),
        pytest.param(replace(ALICE, groups=(*ALICE.groups, "g")), id="one group more"),
        pytest.param(replace(ALICE, extra={}), id="no extra"),
        pytest.param(replace(ALICE, extra={"scope": ("a", "b")}), id="extra key"),
        pytest.param(replace(ALICE, extra={"scopes": ("a", "c")}), id="extra value"),
        pytest.param(replace(ALICE, extra={"scopes": ("a,b",)}), id="joined"),
    ],
)
async def test_a_review_of_another_identity_is_sent(other: User) -> None:
    server = AccessServer(YES, NO)
    reviews = reviews_of(server)
    await asked(reviews)
    assert POD in await asked(reviews, other)
    assert await asked(reviews) == {}, "alice's answer counts still"
    assert len(server.specs) == 2


ACCESS = Access("create", "apps", "v1", "deployments", "team1")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(ACCESS, verb="delete"), id="verb"),
        pytest.param(replace(ACCESS, group="batch"), id="group"),
        pytest.param(replace(ACCESS, version="v2"), id="version"),
        pytest.param(replace(ACCESS, resource="jobs"), id="resource"),
        pytest.param(replace(ACCESS, namespace="team2"), id="namespace"),
        pytest.param(replace(ACCESS, namespace=""), id="whole cluster"),
    ],
)
async def test_a_review_of_another_access_is_sent(other: Access) -> None:
    server = AccessServer(YES, NO)
    reviews = reviews_of(server)
    assert (await reviews._refusals(ALICE, [ACCESS], 4.0))[ACCESS] is None
    assert (await reviews._refusals(ALICE, [other], 4.0))[other] is not None
    assert len(server.specs) == 2


async def test_an_admins_right_is_shared_like_the_others() -> None:
    server = AccessServer(YES)
    reviews = reviews_of(server)
    assert await reviews.is_admin(ALICE)
    assert await reviews.is_admin(ALICE)
    await asked(reviews)
    assert len(server.specs) == 2


async def test_a_denied_review_is_sent_again() -> None:
    server = AccessServer(NO, YES)
    reviews = reviews_of(server)
    assert await asked(reviews) == REFUSED
    assert await asked(reviews) == {}


@pytest.mark.parametrize(
    "answer", [BROKEN, status(), status(allowed=False, evaluationError="e"), status(allowed="true")]
)
async def test_an_error_is_not_remembered(answer: Answer | KubeError) -> None:
    reviews = reviews_of(AccessServer(answer, YES))
    with pytest.raises(CannotGather):
        await asked(reviews)
    assert await asked(reviews) == {}


# Reviews at the same time.


async def burst(server: AccessServer, clock: FakeClock, seconds: float) -> list[Any]:
    """Sixteen identical requests at once; returns each one's answer or error."""
    reviews = reviews_of(server, clock)
    tasks = [asyncio.create_task(asked(reviews)) for _ in range(16)]
    await clock.advance(seconds)
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_burst_sends_one_review() -> None:
    clock = FakeClock()
    server = AccessServer(after(clock, 1.0, YES))
    assert await burst(server, clock, 1.0) == [{}] * 16
    assert len(server.specs) == 1


async def test_a_denial_decides_nothing_for_those_who_wait() -> None:
    """Each sends its own review, and all at once: a line of sixteen could exceed 4 seconds."""
    clock = FakeClock()
    server = AccessServer(after(clock, 1.0, NO), after(clock, 1.0, YES))
    assert await burst(server, clock, 2.0) == [REFUSED] + [{}] * 15
    assert (len(server.specs), server.most_at_once) == (16, 15)


@pytest.mark.parametrize("answer", [BROKEN, status(allowed=False, evaluationError="e")])
async def test_an_error_decides_nothing_for_those_who_wait(answer: Answer | KubeError) -> None:
    clock = FakeClock()
    first, *rest = await burst(AccessServer(answer, YES), clock, 0.0)
    assert isinstance(first, CannotGather)
    assert rest == [{}] * 15


async def test_a_review_without_an_answer_costs_the_others_two_seconds() -> None:
    clock = FakeClock()
    server = AccessServer(never, after(clock, 1.9, YES))
    first, *rest = await burst(server, clock, 3.9)
    assert isinstance(first, CannotGather)
    assert rest == [{}] * 15


async def test_a_broken_connection_of_one_breaks_no_other() -> None:
    clock = FakeClock()
    broken = Unreachable("closed")
    assert await burst(AccessServer(broken, YES), clock, 0.0) == [{}] * 16


async def test_the_sender_may_be_cancelled() -> None:
    clock = FakeClock()
    server = AccessServer(never, YES)
    reviews = reviews_of(server, clock)
    sender, other = (asyncio.create_task(asked(reviews)) for _ in range(2))
    await clock.advance(0.1)
    sender.cancel()
    await clock.advance(0.0)
    assert sender.cancelled()
    assert await other == {}
    assert len(server.specs) == 2


async def test_one_that_waits_may_be_cancelled() -> None:
    clock = FakeClock()
    server = AccessServer(after(clock, 1.0, YES))
    reviews = reviews_of(server, clock)
    sender, one, other = (asyncio.create_task(asked(reviews)) for _ in range(3))
    await clock.advance(0.1)
    one.cancel()
    await clock.advance(0.9)
    assert one.cancelled()
    assert (await sender, await other) == ({}, {})
    assert len(server.specs) == 1


async def test_the_first_failure_of_a_request_ends_no_review_for_another_request() -> None:
    """Alice's first request fails because of deployments: its review of pods is cancelled."""
    clock = FakeClock()
    server = AccessServer(never, after(clock, 0.5, status()), YES)
    reviews = reviews_of(server, clock)
    both = reviews.denied_creations(ALICE, "team1", [POD, DEPLOYMENT])
    failing = asyncio.create_task(both)
    await clock.advance(0.1)
    other = asyncio.create_task(asked(reviews))
    await clock.advance(0.4)
    assert isinstance(failing.exception(), CannotGather)
    assert await other == {}


# Memory.


async def test_a_bounded_number_of_reviews_is_remembered() -> None:
    server = AccessServer(YES)
    reviews = reviews_of(server)
    users = [replace(ALICE, name=f"user-{index}") for index in range(MOST_SHARED + 1)]
    for user in users:
        await asked(reviews, user)
    assert len(reviews._sent) == MOST_SHARED
    await asked(reviews, users[1])
    assert len(server.specs) == MOST_SHARED + 1, "the others are remembered"
    await asked(reviews, users[0])
    assert len(server.specs) == MOST_SHARED + 2, "the oldest was forgotten"


async def test_reviews_under_way_are_bounded_too_and_all_are_answered() -> None:
    clock = FakeClock()
    server = AccessServer(after(clock, 1.0, YES))
    reviews = reviews_of(server, clock)
    users = [replace(ALICE, name=f"user-{index}") for index in range(MOST_SHARED + 1)]
    tasks = [asyncio.create_task(asked(reviews, user)) for user in users for _ in range(2)]
    await clock.advance(0.5)
    assert len(reviews._sent) == MOST_SHARED
    await clock.advance(0.5)
    assert await asyncio.gather(*tasks) == [{}] * len(tasks)
    assert len(server.specs) == MOST_SHARED + 1


async def test_old_answers_are_forgotten_and_refusals_at_once() -> None:
    clock = FakeClock()
    reviews = reviews_of(AccessServer(YES, YES, NO), clock)
    await asked(reviews)
    await asked(reviews, replace(ALICE, name="bob"))
    await asked(reviews, replace(ALICE, name="eve"))
    assert len(reviews._sent) == 2
    clock.pass_by(2.0)
    await reviews.denied_creations(ALICE, "team1", [DEPLOYMENT])
    assert len(reviews._sent) == 0
