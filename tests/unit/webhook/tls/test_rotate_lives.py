"""Whole lives of certificates in virtual time, with several replicas.

`RotationWorld` checks after every step that no API server refuses what any replica serves.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fakes.tls import PLAN, START, authority
from tests.support.fakes.tls_world import MUTATING, VALIDATING, RotationWorld, Secret
from webhook.tls.issue import due_at
from webhook.tls.key_pair import certificates_in, pem
from webhook.tls.rotate import RotationRequest, SecretChange, Serve, Wait

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def installed(replicas: int = 2, seed: int = 0) -> RotationWorld:
    """A world a month after its installation."""
    world = RotationWorld(replicas, seed=seed)
    world.pass_time(30 * DAY)
    world.done.clear()
    return world


def until_the_ca_is_due(world: RotationWorld) -> None:
    """To the moment at which the next CA has just been made."""
    world.pass_time(due_at(world.contents.trusted[0]) - world.now)
    assert world.contents.next is not None


def assert_at_rest(world: RotationWorld) -> None:
    """All serve the leaf of the Secret, and both caBundles are what the Secret says."""
    leaf = world.contents.leaf
    assert leaf is not None
    assert {one.served and one.served.leaf for one in world.replicas} == {leaf.certificate}
    assert world.bundles == [world.contents.bundle] * 2
    assert world.secret is not None
    assert world.secret.request is None


# The replicas are alike, so the first turn is that of the first one.
@pytest.mark.parametrize("later_turns", list(product([0, 1], repeat=6)))
def test_in_whatever_order_two_replicas_race_both_serve_the_same(
    later_turns: tuple[int, ...],
) -> None:
    world = RotationWorld(replicas=2)
    for turn in (0, *later_turns):
        world.replicas[turn].step()
        world.check()
    world.settle()
    assert_at_rest(world)
    assert len(world.times_of(SecretChange.GENERATE)) == 1
    assert world.times_of(Serve) == [START, START]


def test_some_races_between_replicas_are_lost() -> None:
    world = RotationWorld(replicas=2)
    for turn in (0, 1, 0, 1):
        world.replicas[turn].step()
    assert world.conflicts == 1


def test_the_life_of_a_ca() -> None:
    world = RotationWorld(replicas=2)
    world.pass_time(12 * 365 * DAY)
    assert_at_rest(world)
    assert world.times_of(SecretChange.GENERATE) == [START]
    # Two thirds of ten years, of which five minutes were over at the start.
    (announced,) = world.times_of(SecretChange.ADD_NEXT)
    assert timedelta(0) <= START + 3650 * DAY * 2 / 3 - announced < timedelta(minutes=5)
    assert world.times_of(SecretChange.PROMOTE) == [announced + PLAN.settle_period]
    # Until the last leaf of the old CA has expired.
    (dropped,) = world.times_of(SecretChange.TIDY)
    assert 30 * DAY < dropped - announced <= 90 * DAY
    # A leaf every sixty days; the new CA's first takes the place of one.
    assert len(world.times_of(SecretChange.RENEW)) in (71, 72)
    assert world.contents.previous == ()


def test_a_leaf_is_renewed_and_served_at_once() -> None:
    world = installed()
    world.touch(request=RotationRequest.LEAF)
    world.settle()
    assert_at_rest(world)
    assert world.times_of(SecretChange.RENEW) == [world.now]
    assert world.times_of(Serve) == [world.now, world.now]
    assert world.times_of(SecretChange.ADD_NEXT) == []


def test_a_ca_that_an_admin_has_replaced_is_trusted_for_the_revocation_period() -> None:
    world = installed()
    asked = world.now
    (old,) = world.contents.trusted
    world.touch(request=RotationRequest.CA)
    world.pass_time(PLAN.settle_period - SECOND)
    assert world.times_of(SecretChange.ADD_NEXT) == [asked]
    assert world.times_of(Serve) == []
    world.pass_time(SECOND)
    assert world.times_of(Serve) == [asked + PLAN.settle_period] * 2
    assert old in world.contents.trusted
    world.pass_time(PLAN.revocation_period - SECOND)
    assert old in world.contents.trusted
    world.pass_time(SECOND)
    assert_at_rest(world)
    assert old not in world.contents.trusted
    assert len(world.contents.trusted) == 1


def test_a_next_ca_that_waited_in_a_leaked_secret_is_replaced_too() -> None:
    world = installed()
    until_the_ca_is_due(world)
    assert world.contents.next is not None
    leaked = world.contents.next.pair.certificate
    world.touch(request=RotationRequest.CA)
    world.pass_time(2 * PLAN.revocation_period)
    assert_at_rest(world)
    assert leaked not in world.contents.trusted
    assert len(world.times_of(SecretChange.ADD_NEXT)) == 2
    assert len(world.times_of(SecretChange.PROMOTE)) == 1


def test_an_emptied_secret_gets_a_new_ca_and_the_old_leaf_is_served_meanwhile() -> None:
    world = installed()
    (old,) = world.contents.trusted
    emptied = world.now
    world.touch(data={})
    world.settle()
    assert world.times_of(SecretChange.GENERATE) == [emptied]
    assert world.contents.trusted[1:] == (old,)
    assert world.times_of(Serve) == []
    late = world.start("started meanwhile")
    world.pass_time(PLAN.settle_period)
    assert late.served is not None
    assert world.times_of(Serve) == [emptied + PLAN.settle_period] * 3
    assert_at_rest(world)
    # Not longer than the old leaf lives, which was made a month ago.
    world.pass_time(60 * DAY)
    assert old not in world.contents.trusted


def test_without_its_secret_it_serves_on_and_makes_a_new_one_good() -> None:
    world = installed()
    before = world.bundles[:]
    world.secret = None
    world.pass_time(10 * DAY)
    assert (world.done, world.bundles) == ([], before)
    world.secret = Secret(version=1000)
    world.pass_time(MINUTE)
    assert_at_rest(world)
    assert len(world.times_of(SecretChange.GENERATE)) == 1


def test_without_their_secret_replicas_that_remember_different_cas_do_not_fight() -> None:
    world = installed(replicas=2)
    world.replicas[0].paused = True
    world.touch(data={})
    world.settle()
    world.secret = None
    world.replicas[0].paused = False
    world.pass_time(DAY)
    assert len(certificates_in(world.bundles[MUTATING] or b"")) == 2
    assert world.bundles[MUTATING] == world.bundles[VALIDATING]


def test_a_secret_of_the_past_is_accepted_without_a_refusal() -> None:
    """As after a restored backup: its CA is good, but nobody knows it any more."""
    world = installed()
    assert world.secret is not None
    past = world.secret.data
    world.touch(request=RotationRequest.CA)
    world.pass_time(DAY)
    world.done.clear()
    world.touch(data=past)
    world.pass_time(DAY)
    assert_at_rest(world)
    assert len(world.times_of(SecretChange.ADOPT)) == 1
    assert world.times_of(SecretChange.GENERATE) == []


@pytest.mark.parametrize("drifted", [b"", pem([authority().certificate])], ids=["no", "another"])
@pytest.mark.parametrize("index", [MUTATING, VALIDATING])
def test_a_changed_bundle_is_restored_at_once(index: int, drifted: bytes) -> None:
    world = installed()
    good = world.bundles[:]
    world.overwrite(index, drifted)
    world.settle(checked=False)
    assert world.bundles == good


def test_a_ca_that_was_missing_meanwhile_settles_again() -> None:
    world = installed()
    world.touch(request=RotationRequest.CA)
    asked = world.now
    world.pass_time(20 * SECOND)
    world.overwrite(VALIDATING, b"")
    world.settle(checked=False)
    world.pass_time(20 * SECOND, checked=False)
    assert world.times_of(SecretChange.PROMOTE) == []
    world.pass_time(MINUTE)
    # The replica that saw it before it was put back counts from then; another may not have.
    (promoted,) = world.times_of(SecretChange.PROMOTE)
    assert promoted == asked + 50 * SECOND


def test_a_deleted_configuration_holds_up_nothing_and_stays_deleted() -> None:
    world = installed()
    world.overwrite(MUTATING, None)
    world.touch(request=RotationRequest.CA)
    world.pass_time(MINUTE)
    assert world.bundles == [None, world.contents.bundle]
    assert len(world.times_of(SecretChange.PROMOTE)) == 1
    world.overwrite(MUTATING, b"")
    world.settle()
    assert_at_rest(world)


def test_a_replica_that_is_out_of_touch_for_minutes_is_accepted_all_the_while() -> None:
    world = installed(replicas=3)
    world.replicas[0].paused = True
    world.touch(request=RotationRequest.CA)
    world.pass_time(9 * MINUTE)
    world.replicas[0].paused = False
    world.pass_time(DAY)
    assert_at_rest(world)


def test_a_replica_that_returns_after_its_ca_was_dropped_uses_the_new_one_at_once() -> None:
    world = installed(replicas=2)
    lost, other = world.replicas
    lost.paused = True
    world.replicas.remove(lost)
    world.touch(request=RotationRequest.CA)
    world.pass_time(DAY)
    world.replicas.append(lost)
    lost.paused = False
    world.settle(checked=False)
    assert lost.served == other.served
    assert world.times_of(SecretChange.ADOPT) == []


# Lives short enough to be lived many times: a leaf every 11 hours, a CA every 48.
QUICK = PLAN.model_copy(update={"leaf_lifetime": 16 * HOUR, "ca_lifetime": 72 * HOUR})
LEAF_LIFE = QUICK.leaf_lifetime

TROUBLES: dict[str, Callable[[RotationWorld], None]] = {
    "a first start": lambda _: None,
    "a leaf that is asked for": lambda world: world.touch(request=RotationRequest.LEAF),
    "a CA that is asked for": lambda world: world.touch(request=RotationRequest.CA),
    "an emptied Secret": lambda world: world.touch(data={}),
    "a CA that is due": lambda world: world.pass_time(
        due_at(world.contents.trusted[0]) - world.now - SECOND
    ),
}


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside another"])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_killed_after_any_write_it_is_continued(trouble: str, others: int) -> None:
    for writes in range(40):
        world = RotationWorld(1 + others, plan=QUICK)
        if trouble != "a first start":
            world.pass_time(5 * MINUTE)
            TROUBLES[trouble](world)
        # Alone it may take its time; the other one stands still, and that only for minutes.
        patience = LEAF_LIFE if others == 0 else 9 * MINUTE
        ended = not writes_on(world, world.writes + writes, world.now + patience)
        world.replicas.pop(0)
        world.start("restarted")
        world.pass_time(LEAF_LIFE + HOUR)
        assert_at_rest(world)
        assert len(world.contents.trusted) == 1
        if ended:
            assert writes > (1 if "leaf" in trouble else 2)
            return
    pytest.fail("it never ends")


def writes_on(world: RotationWorld, number: int, end: datetime) -> bool:
    """The first replica alone, up to the write of that number; False if there is none until `end`.

    Time goes on whenever it waits.
    """
    while world.writes < number:
        action = world.replicas[0].step()
        world.check()
        if isinstance(action, Wait):
            if action.until > end:
                return False
            world.now = action.until
    return True


MOMENTS = st.sampled_from([SECOND, 29 * SECOND, 30 * SECOND, 5 * MINUTE, 11 * MINUTE, 49 * HOUR])
EVENTS = st.sampled_from(
    ["nothing", "leaf", "ca", "emptied", "deleted", "restart", "scale up", "scale down", "pause"]
)


def happen(world: RotationWorld, event: str, number: int) -> None:
    """One thing that somebody does; what makes no sense now is left out."""
    match event:
        case "leaf" | "ca" if world.secret is not None:
            world.touch(request=RotationRequest(event))
        case "emptied" if world.secret is not None:
            world.touch(data={})
        case "deleted":
            world.secret = None
        case "restart":
            world.replicas.pop(0)
            world.start(f"restarted-{number}")
        case "scale up" if len(world.replicas) < 4:
            world.start(f"new-{number}")
        case "scale down" if len(world.replicas) > 1:
            world.replicas.pop(0)
        case "pause":
            world.replicas[-1].paused = True


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    story=st.lists(st.tuples(EVENTS, MOMENTS, st.integers(0, 12)), max_size=8),
)
def test_whatever_happens_nothing_that_is_served_is_refused(
    seed: int, story: list[tuple[str, timedelta, int]]
) -> None:
    world = RotationWorld(2, plan=QUICK, seed=seed)
    world.pass_time(5 * MINUTE)
    for number, (event, duration, steps) in enumerate(story):
        happen(world, event, number)
        # What comes next comes in the middle of what this set off.
        for _ in range(steps):
            world.replicas[number % len(world.replicas)].step()
            world.check()
        # Nobody is out of touch for longer than the revocation period, and no Secret is away for
        # as long as the last third of a leaf's life.
        if duration > 11 * MINUTE and world.secret is None:
            world.secret = Secret(version=10_000 + number)
        for replica in world.replicas:
            replica.paused = replica.paused and event == "pause" and duration <= 5 * MINUTE
        world.pass_time(duration)
        if world.secret is None:
            world.secret = Secret(version=20_000 + number)
    for replica in world.replicas:
        replica.paused = False
    world.pass_time(3 * LEAF_LIFE)
    assert_at_rest(world)


def test_the_check_of_these_tests_can_fail() -> None:
    world = installed()
    replica = world.replicas[0]
    assert replica.served is not None
    replica.served = replace(replica.served, leaf=authority().certificate)
    with pytest.raises(AssertionError, match="replica-0 is refused"):
        world.check()
