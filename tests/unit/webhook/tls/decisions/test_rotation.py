"""Single decisions; whole lives are in test_lives.py."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from localcluster.installers.rotated_certificate import RotatedCertificate
from tests.support.fakes.tls import HOST, PLAN, START, authority, contents, leaf
from webhook.tls.decisions.ca_bundle import Trust
from webhook.tls.decisions.certificates import KeyPair, due_at, pem
from webhook.tls.decisions.rotation import decide
from webhook.tls.decisions.secret_data import Contents, NextAuthority, PreviousAuthority
from webhook.tls.decisions.steps import (
    SECRET_ACTIONS,
    Action,
    AddNext,
    Adopt,
    DropPrevious,
    Generate,
    Promote,
    Publish,
    RenewLeaf,
    Request,
    SecretAction,
    Serve,
    Served,
    Tidy,
    View,
    Wait,
    answers_request,
    contents_after,
)

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
OLD = authority()  # of which something was served once
OLD_LEAF = leaf(OLD)
CA = authority()
LEAF = leaf(CA)
NEXT = authority()
EXPIRED = authority(START - DAY, life=timedelta(hours=23))
NOW = START + DAY
GOOD = Contents(CA, LEAF)
SERVED = Served(LEAF.certificate, CA.certificate)
SERVES_OLD = Served(OLD_LEAF.certificate, OLD.certificate)
PREVIOUS = PreviousAuthority(OLD.certificate, START + 90 * DAY)


def trust(*pairs: KeyPair, since: datetime = START) -> Trust:
    return Trust({pair.certificate: since for pair in pairs})


def view(found: Contents = GOOD, **fields: Any) -> View:
    """At rest: everything published, trusted since the start, and served."""
    at_rest: dict[str, Any] = {
        "published": (found.bundle, found.bundle),
        "trust": Trust(dict.fromkeys(found.trusted, START), frozenset(found.trusted)),
        "served": SERVED,
    }
    return View(found, **{**at_rest, **fields})


def decided(seen: View, now: datetime = NOW, *blocked: type[Action]) -> Action:
    return decide(seen, now, PLAN, frozenset(blocked))


def test_at_rest_it_waits_until_the_leaf_is_due() -> None:
    assert decided(view()) == Wait(due_at(LEAF.certificate))


THEIRS = RotatedCertificate.make("appwrapper-ca", HOST, START)
GO_CA = KeyPair.from_pem(THEIRS.files["ca.crt"], THEIRS.files["ca.key"])
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
WITH_NEXT = replace(GOOD, next=NextAuthority(NEXT))
DUE = due_at(LEAF.certificate)
CA_DUE = due_at(CA.certificate)
FRESH_LEAF = leaf(CA, CA_DUE - DAY)
FRESH = replace(GOOD, leaf=FRESH_LEAF)
SERVES_FRESH = Served(FRESH_LEAF.certificate, CA.certificate)
TO_COME = leaf(CA, NOW + DAY)
DAMAGED = replace(GOOD, problems=("rotation.json is damaged",))

SECRET_STEPS = [
    pytest.param(view(Contents(), served=None), NOW, Generate("it is empty"), id="empty"),
    pytest.param(
        view(Contents(problems=("ca.key missing", "tls.key missing")), served=None), NOW,
        Generate("ca.key missing; tls.key missing"), id="unusable",
    ),
    pytest.param(
        view(Contents(EXPIRED, leaf(EXPIRED, START - DAY)), served=None), NOW,
        Generate(f"its CA expired at {START - timedelta(hours=1)}"), id="an expired CA",
    ),
    pytest.param(view(Contents(CA)), NOW, RenewLeaf("there is none"), id="no leaf"),
    pytest.param(
        view(Contents(CA, problems=("tls.key missing",))), NOW,
        RenewLeaf("tls.key missing"), id="an unusable leaf",
    ),
    pytest.param(
        view(Contents(CA, OLD_LEAF)), NOW,
        RenewLeaf("tls.crt was not issued by ca.crt"), id="a leaf of another CA",
    ),
    pytest.param(
        view(Contents(CA, leaf(CA, names=("other",)))), NOW,
        RenewLeaf(f"tls.crt is not for {HOST}"), id="a leaf for another name",
    ),
    pytest.param(
        view(), START - timedelta(minutes=5, seconds=1),
        Generate(f"its CA is not valid before {START - timedelta(minutes=5)}"),
        id="a CA of a clock that was ahead",
    ),
    pytest.param(
        view(replace(GOOD, leaf=TO_COME)), NOW,
        RenewLeaf(f"it is not valid before {NOW + DAY - timedelta(minutes=5)}"),
        id="a leaf of a clock that was ahead",
    ),
    pytest.param(
        view(replace(FRESH, next=NextAuthority(authority(CA_DUE + DAY))), served=SERVES_FRESH),
        CA_DUE, AddNext("two thirds of the CA's life are over"),
        id="a next CA of a clock that was ahead",
    ),
    pytest.param(
        view(request=Request.LEAF), NOW, RenewLeaf("an admin asked for it"), id="a leaf asked for",
    ),
    pytest.param(
        view(Contents(CA, replace(LEAF, key=RSA_KEY))), NOW,
        RenewLeaf("handshakes with its RSA key are slow"), id="a leaf with an RSA key",
    ),
    pytest.param(view(), DUE - SECOND, Wait(DUE), id="a second before the leaf is due"),
    pytest.param(
        view(), DUE, RenewLeaf("two thirds of its life are over"), id="a leaf that is due",
    ),
    pytest.param(
        view(FRESH, served=SERVES_FRESH), CA_DUE - SECOND, Wait(CA_DUE),
        id="a second before the CA is due",
    ),
    pytest.param(
        view(FRESH, served=SERVES_FRESH), CA_DUE,
        AddNext("two thirds of the CA's life are over"), id="a CA that is due",
    ),
    pytest.param(
        view(request=Request.CA), NOW, AddNext("an admin asked for it", forced=True),
        id="a CA asked for",
    ),
    pytest.param(
        view(WITH_NEXT, request=Request.CA, trust=Trust()), NOW,
        AddNext("an admin asked for it", forced=True), id="a CA asked for while one waits",
    ),
    pytest.param(
        view(WITH_NEXT, trust=trust(CA, NEXT, since=NOW - 29 * SECOND)), NOW, Wait(NOW + SECOND),
        id="a next CA that has nearly settled",
    ),
    pytest.param(
        view(WITH_NEXT, trust=trust(CA, NEXT, since=NOW - 30 * SECOND)), NOW, Promote(),
        id="a next CA that has settled",
    ),
    pytest.param(
        view(WITH_NEXT, trust=trust(CA)), NOW, Wait(DUE),
        id="a next CA that is not everywhere",
    ),
    pytest.param(
        view(replace(GOOD, next=NextAuthority(NEXT, forced=True)), request=Request.CA,
             trust=trust(CA)), NOW, Wait(DUE), id="a next CA that was asked for and is not known",
    ),
    pytest.param(
        view(replace(GOOD, previous=(PREVIOUS,))), START + 50 * DAY, Wait(DUE),
        id="a previous CA that is still needed",
    ),
    pytest.param(
        view(replace(GOOD, previous=(replace(PREVIOUS, trusted_until=NOW + SECOND),))), NOW,
        Wait(NOW + SECOND), id="a previous CA in its last second",
    ),
    pytest.param(
        view(replace(GOOD, previous=(replace(PREVIOUS, trusted_until=NOW),))), NOW, DropPrevious(),
        id="a previous CA that is over",
    ),
    pytest.param(
        view(replace(GOOD, previous=(PreviousAuthority(EXPIRED.certificate, NOW + DAY),))), NOW,
        DropPrevious(), id="a previous CA that has expired itself",
    ),
    pytest.param(
        view(replace(GOOD, previous=(PreviousAuthority(CA.certificate, NOW + DAY),))), NOW,
        DropPrevious(), id="a previous CA that is in use",
    ),
    pytest.param(view(DAMAGED), NOW, Tidy("rotation.json is damaged"), id="damage beside"),
    pytest.param(view(Contents(), stored=False, served=None), NOW, Wait(NOW + PLAN.leaf_life),
                 id="no Secret, and there never was one"),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "now", "expected"), SECRET_STEPS)
def test_the_next_step_of_the_secret(seen: View, now: datetime, expected: Action) -> None:
    assert decided(seen, now) == expected


def test_at_the_end_of_a_ca_that_is_not_replaced_leaves_are_not_renewed_for_nothing() -> None:
    """Say both configurations cannot be written for years."""
    end = CA.certificate.not_valid_after_utc
    last = leaf(CA, end - 10 * DAY)
    seen = view(replace(WITH_NEXT, leaf=last), trust=trust(CA))
    action = decided(seen, end - SECOND, Serve, AddNext)
    assert action == Wait(end)


NEW = replace(GOOD, previous=(PREVIOUS,))
KNOWN = frozenset({CA.certificate})
SERVE = Serve(LEAF, CA.certificate)
LATER = START + 29 * SECOND  # after CA and leaf were made
SETTLED = START + 30 * SECOND

SERVING = [
    pytest.param(view(served=None, trust=trust(CA, since=NOW)), NOW, True,
                 id="at a first installation at once"),
    pytest.param(view(served=None, trust=Trust()), NOW, False,
                 id="at a first installation not before it is published"),
    pytest.param(view(NEW, served=None, trust=trust(CA, OLD, since=NOW)), NOW, False,
                 id="a new process waits for a CA that was published just now"),
    pytest.param(view(NEW, served=None, trust=replace(trust(CA, OLD), from_start=KNOWN)), SETTLED,
                 True, id="a new process serves what was known and is old enough"),
    pytest.param(
        view(NEW, served=None, trust=Trust({CA.certificate: LATER, OLD.certificate: LATER}, KNOWN)),
        LATER, False, id="a new process waits for a CA that is younger than the settle period"),
    pytest.param(view(NEW, served=SERVES_OLD, trust=trust(CA, OLD, since=NOW - 29 * SECOND)), NOW,
                 False, id="a running one waits for the settle period"),
    pytest.param(view(NEW, served=SERVES_OLD, trust=trust(CA, OLD, since=NOW - 30 * SECOND)), NOW,
                 True, id="a running one serves what has settled"),
    pytest.param(view(NEW, served=SERVES_OLD, trust=trust(CA, since=NOW)), NOW, True,
                 id="at once when what it serves is trusted no more"),
    pytest.param(view(served=SERVES_OLD, trust=trust(CA, OLD, since=NOW)), NOW, True,
                 id="at once when what it serves will be trusted no more"),
    pytest.param(
        view(replace(NEW, leaf=leaf(CA, NOW + 89 * DAY)), served=SERVES_OLD,
             trust=trust(CA, OLD, since=NOW + 90 * DAY)), NOW + 90 * DAY, True,
        id="at once when what it serves has expired"),
    pytest.param(view(replace(GOOD, leaf=leaf(CA)), trust=Trust()), NOW, True,
                 id="another leaf of the same CA at once, published or not"),
    pytest.param(view(Contents(CA, OLD_LEAF), served=None), NOW, False,
                 id="never one that clients refuse"),
    pytest.param(view(served=None), START + 91 * DAY, False, id="never one that has expired"),
    pytest.param(view(replace(GOOD, leaf=TO_COME)), NOW, False, id="never one that is to come"),
    pytest.param(view(stored=False, served=None), NOW, True,
                 id="what it had last, without a Secret"),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "now", "served"), SERVING)
def test_when_a_leaf_is_served(seen: View, now: datetime, served: bool) -> None:
    action = decided(seen, now, *SECRET_ACTIONS, Publish)
    assert isinstance(action, Serve if served else Wait)
    if isinstance(action, Serve):
        assert (action.leaf, action.authority) == (seen.contents.leaf, CA.certificate)


OTHER = pem([OLD.certificate])


@pytest.mark.parametrize("published", [(b"", b""), (GOOD.bundle, b""), (OTHER, GOOD.bundle)])
def test_every_bundle_that_differs_is_written(published: tuple[bytes, ...]) -> None:
    assert decided(view(published=published)) == Publish(GOOD.bundle)


def test_without_a_configuration_nothing_is_written() -> None:
    assert decided(view(published=())) == Wait(DUE)


def test_without_a_secret_what_is_missing_is_added_and_nothing_is_taken_away() -> None:
    seen = view(stored=False, published=(OTHER, GOOD.bundle))
    both = pem([CA.certificate, OLD.certificate])
    assert decided(seen) == Publish(both)
    assert decided(view(stored=False, published=(both, both))) == Wait(DUE)


def test_without_the_secret_only_empty_bundles_are_filled() -> None:
    """Ours may have been revoked, and a bundle that lacks it may be right."""
    unread = view(stored=False, unread=True)
    assert decided(replace(unread, published=(OTHER, OTHER))) == Wait(DUE)
    assert decided(replace(unread, published=(OTHER, b""))) == Publish(OTHER)
    assert decided(replace(unread, published=(b"", b""))) == Publish(GOOD.bundle)


def test_a_ca_that_this_replica_serves_is_recorded_before_the_bundle_is_written() -> None:
    carried = pem([OLD.certificate])
    seen = view(served=SERVES_OLD, published=(carried, carried), trust=trust(OLD))
    adopt = Adopt(OLD.certificate, OLD_LEAF.certificate.not_valid_after_utc)
    assert decided(seen) == adopt
    # If it cannot be recorded, the others' bundle must not push it out.
    assert decided(seen, NOW, Adopt) == Wait(DUE)
    assert contents_after(adopt, seen, NOW, PLAN).trusted == (CA.certificate, OLD.certificate)


def test_a_ca_that_no_bundle_carries_is_not_recorded() -> None:
    seen = view(served=SERVES_OLD, published=(b"", b""), trust=Trust())
    assert decided(seen) == Publish(GOOD.bundle)


def test_a_failed_step_does_not_stop_the_others() -> None:
    seen = view(replace(GOOD, next=NextAuthority(NEXT)), request=Request.LEAF, published=(b"",))
    assert isinstance(decided(seen), RenewLeaf)
    assert isinstance(decided(seen, NOW, RenewLeaf), Publish)
    assert isinstance(decided(seen, NOW, RenewLeaf, Publish), Promote)


def test_a_generated_ca_keeps_every_served_certificate_trusted() -> None:
    orphan, foreign, past = (authority().certificate for _ in range(3))
    seen = view(
        Contents(
            previous=(PREVIOUS, PreviousAuthority(past, NOW)), orphans=(orphan,), problems=("x",)
        ),
        served=SERVED,
        published=(pem([foreign, CA.certificate, EXPIRED.certificate]), OTHER),
    )
    made = contents_after(Generate("x"), seen, NOW, PLAN)
    leaf_end = NOW + PLAN.leaf_life
    assert {one.certificate: one.trusted_until for one in made.previous} == {
        OLD.certificate: PREVIOUS.trusted_until,
        CA.certificate: LEAF.certificate.not_valid_after_utc,
        # Nothing says until when these are needed.
        orphan: leaf_end,
        foreign: leaf_end,
    }
    assert (made.problems, made.orphans, made.next) == ((), (), None)
    asked = contents_after(Generate("x"), replace(seen, request=Request.CA), NOW, PLAN)
    assert {one.trusted_until for one in asked.previous} == {NOW + PLAN.revocation_period}


def test_a_whole_machines_authorities_are_not_taken_over() -> None:
    many = pem([authority().certificate for _ in range(20)])
    made = contents_after(Generate("x"), view(Contents(), published=(many,)), NOW, PLAN)
    assert len(made.previous) == 17  # sixteen, and what is served


def test_a_promoted_ca_issues_and_the_old_one_stays_as_long_as_its_leaf() -> None:
    made = contents_after(Promote(), view(WITH_NEXT), NOW, PLAN)
    assert made.authority == NEXT
    assert made.next is None
    leaf_end = LEAF.certificate.not_valid_after_utc
    assert made.previous == (PreviousAuthority(CA.certificate, leaf_end),)
    forced = replace(GOOD, next=NextAuthority(NEXT, forced=True))
    (soon,) = contents_after(Promote(), view(forced), NOW, PLAN).previous
    assert soon == PreviousAuthority(CA.certificate, NOW + PLAN.revocation_period)
    no_leaf = replace(WITH_NEXT, leaf=None)
    (late,) = contents_after(Promote(), view(no_leaf), NOW, PLAN).previous
    assert late == PreviousAuthority(CA.certificate, NOW + PLAN.leaf_life)


def test_a_finished_step_is_settled_at_once() -> None:
    """No step leads to itself again: replicas would write for ever."""
    for parameters in SECRET_STEPS:
        values: Any = parameters.values
        seen, now, step = values
        if type(step) not in SECRET_ACTIONS:
            continue
        made = contents_after(step, seen, now, PLAN)
        request = None if answers_request(step, seen) else seen.request
        after = view(made, request=request, served=seen.served, trust=Trust())
        assert type(decide(after, now, PLAN)) is not type(step), parameters.id


ASKED = replace(GOOD, next=NextAuthority(NEXT, forced=True))


@pytest.mark.parametrize(
    ("step", "seen", "answered"),
    [
        (RenewLeaf("x"), view(request=Request.LEAF), True),
        (RenewLeaf("x"), view(request=Request.CA), False),
        (AddNext("x", forced=True), view(request=Request.CA), False),
        (Promote(), view(ASKED, request=Request.CA), True),
        (Promote(), view(WITH_NEXT, request=Request.CA), False),
        (Promote(), view(ASKED, request=Request.LEAF), False),
        (Generate("x"), view(request=Request.CA), True),
        (Generate("x"), view(), False),
        (DropPrevious(), view(request=Request.CA), False),
    ],
)
def test_when_what_an_admin_asked_for_is_done(
    step: SecretAction, seen: View, answered: bool
) -> None:
    assert answers_request(step, seen) is answered


def test_the_go_operators_certificate_is_served_and_then_replaced_by_a_faster_one() -> None:
    their_leaf = leaf(GO_CA)
    theirs = Contents(GO_CA, their_leaf)
    seen = view(theirs, served=None, trust=Trust({GO_CA.certificate: NOW}))
    assert decided(seen) == Serve(their_leaf, GO_CA.certificate)
    assert contents().authority != GO_CA
