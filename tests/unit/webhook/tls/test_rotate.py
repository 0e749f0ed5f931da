"""Single decisions; whole lives are in test_lives.py."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import Certificate

from localcluster.installers.rotated_certificate import RotatedCertificate
from tests.support.fakes.tls import HOST, PLAN, START, authority, contents, leaf, write
from webhook.tls.certificate_secret import Contents, NextAuthority, PreviousAuthority
from webhook.tls.issue import due_at
from webhook.tls.key_pair import KeyPair, pem
from webhook.tls.rotate import (
    Publish,
    RotationRequest,
    SecretChange,
    Serve,
    Served,
    Step,
    View,
    Wait,
    Write,
    decide,
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


def trusted(*pairs: KeyPair, since: datetime = START) -> dict[Certificate, datetime]:
    return {pair.certificate: since for pair in pairs}


def view(found: Contents = GOOD, **fields: Any) -> View:
    """At rest: everything published, trusted since the start, and served."""
    at_rest: dict[str, Any] = {
        "published": (found.bundle, found.bundle),
        "since": dict.fromkeys(found.trusted, START),
        "served": SERVED,
    }
    return View(found, **{**at_rest, **fields})


def decided(seen: View, now: datetime = NOW, *blocked: type[Step]) -> Step:
    step = decide(seen, now, PLAN, frozenset(blocked))
    return replace(step, answers=False) if isinstance(step, Write) else step


def written(seen: View) -> Write:
    step = decide(seen, NOW, PLAN)
    assert isinstance(step, Write)
    return step


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

generate, renew = partial(write, SecretChange.GENERATE), partial(write, SecretChange.RENEW)
add_next, tidy = partial(write, SecretChange.ADD_NEXT), partial(write, SecretChange.TIDY)
SETTLED_CA = "every caBundle has it"
UNNEEDED = "no replica serves a certificate of a previous CA"
SECRET_STEPS = [
    pytest.param(view(Contents(), served=None), NOW, generate("it is empty"), id="empty"),
    pytest.param(
        view(Contents(problems=("ca.key missing", "tls.key missing")), served=None), NOW,
        generate("ca.key missing; tls.key missing"), id="unusable",
    ),
    pytest.param(
        view(Contents(EXPIRED, leaf(EXPIRED, START - DAY)), served=None), NOW,
        generate(f"its CA expired at {START - timedelta(hours=1)}"), id="an expired CA",
    ),
    pytest.param(view(Contents(CA)), NOW, renew("there is none"), id="no leaf"),
    pytest.param(
        view(Contents(CA, problems=("tls.key missing",))), NOW,
        renew("tls.key missing"), id="an unusable leaf",
    ),
    pytest.param(
        view(Contents(CA, OLD_LEAF)), NOW,
        renew("tls.crt was not issued by ca.crt"), id="a leaf of another CA",
    ),
    pytest.param(
        view(Contents(CA, leaf(CA, names=("other",)))), NOW,
        renew(f"tls.crt is not for {HOST}"), id="a leaf for another name",
    ),
    pytest.param(
        view(), START - timedelta(minutes=5, seconds=1),
        generate(f"its CA is not valid before {START - timedelta(minutes=5)}"),
        id="a CA of a clock that was ahead",
    ),
    pytest.param(
        view(replace(GOOD, leaf=TO_COME)), NOW,
        renew(f"it is not valid before {NOW + DAY - timedelta(minutes=5)}"),
        id="a leaf of a clock that was ahead",
    ),
    pytest.param(
        view(replace(FRESH, next=NextAuthority(authority(CA_DUE + DAY))), served=SERVES_FRESH),
        CA_DUE, add_next("two thirds of the CA's life are over"),
        id="a next CA of a clock that was ahead",
    ),
    pytest.param(
        view(request=RotationRequest.LEAF), NOW, renew("an admin asked for it"),
        id="a leaf asked for"),
    pytest.param(
        view(Contents(CA, replace(LEAF, key=RSA_KEY))), NOW,
        renew("handshakes with its RSA key are slow"), id="a leaf with an RSA key",
    ),
    pytest.param(view(), DUE - SECOND, Wait(DUE), id="a second before the leaf is due"),
    pytest.param(
        view(), DUE, renew("two thirds of its life are over"), id="a leaf that is due",
    ),
    pytest.param(
        view(FRESH, served=SERVES_FRESH), CA_DUE - SECOND, Wait(CA_DUE),
        id="a second before the CA is due",
    ),
    pytest.param(
        view(FRESH, served=SERVES_FRESH), CA_DUE,
        add_next("two thirds of the CA's life are over"), id="a CA that is due",
    ),
    pytest.param(
        view(request=RotationRequest.CA), NOW, add_next("an admin asked for it"),
        id="a CA asked for",
    ),
    pytest.param(
        view(WITH_NEXT, request=RotationRequest.CA, since={}), NOW,
        add_next("an admin asked for it"), id="a CA asked for while one waits",
    ),
    pytest.param(
        view(WITH_NEXT, since=trusted(CA, NEXT, since=NOW - 29 * SECOND)), NOW, Wait(NOW + SECOND),
        id="a next CA that has nearly settled",
    ),
    pytest.param(
        view(WITH_NEXT, since=trusted(CA, NEXT, since=NOW - 30 * SECOND)), NOW,
        write(SecretChange.PROMOTE, SETTLED_CA),
        id="a next CA that has settled",
    ),
    pytest.param(
        view(WITH_NEXT, since=trusted(CA)), NOW, Wait(DUE),
        id="a next CA that is not everywhere",
    ),
    pytest.param(
        view(replace(GOOD, next=NextAuthority(NEXT, forced=True)), request=RotationRequest.CA,
             since=trusted(CA)), NOW, Wait(DUE), id="a next CA that was asked for and is not known",
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
        view(replace(GOOD, previous=(replace(PREVIOUS, trusted_until=NOW),))), NOW, tidy(UNNEEDED),
        id="a previous CA that is over",
    ),
    pytest.param(
        view(replace(GOOD, previous=(PreviousAuthority(EXPIRED.certificate, NOW + DAY),))), NOW,
        tidy(UNNEEDED), id="a previous CA that has expired itself",
    ),
    pytest.param(
        view(replace(GOOD, previous=(PreviousAuthority(CA.certificate, NOW + DAY),))), NOW,
        tidy(UNNEEDED), id="a previous CA that is in use",
    ),
    pytest.param(view(DAMAGED), NOW, tidy("rotation.json is damaged"), id="damage beside"),
    pytest.param(view(Contents(), stored=False, served=None), NOW, Wait(NOW + PLAN.leaf_lifetime),
                 id="no Secret, and there never was one"),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "now", "expected"), SECRET_STEPS)
def test_the_next_step_of_the_secret(seen: View, now: datetime, expected: Step) -> None:
    assert decided(seen, now) == expected


def test_at_the_end_of_a_ca_that_is_not_replaced_leaves_are_not_renewed_for_nothing() -> None:
    """Say both configurations cannot be written for years."""
    end = CA.certificate.not_valid_after_utc
    last = leaf(CA, end - 10 * DAY)
    seen = view(
        replace(GOOD, leaf=last, next=NextAuthority(authority(end - DAY))), since=trusted(CA)
    )
    action = decided(seen, end - SECOND, Serve)
    assert action == Wait(end)


NEW = replace(GOOD, previous=(PREVIOUS,))
SERVE = Serve(LEAF, CA.certificate)
LATER = START + 29 * SECOND  # after CA and leaf were made
SETTLED = START + 30 * SECOND

SERVING = [
    pytest.param(view(served=None, since=trusted(CA, since=NOW)), NOW, True,
                 id="at a first installation at once"),
    pytest.param(view(served=None, since={}), NOW, False,
                 id="at a first installation not before it is published"),
    pytest.param(view(NEW, served=None, since=trusted(CA, OLD)), SETTLED,
                 True, id="a new process serves what was known and is old enough"),
    pytest.param(
        view(NEW, served=None, since=trusted(CA, OLD, since=LATER)),
        LATER, False, id="a new process waits for a CA that is younger than the settle period"),
    pytest.param(view(NEW, served=SERVES_OLD, since=trusted(CA, OLD, since=NOW - 29 * SECOND)), NOW,
                 False, id="a running one waits for the settle period"),
    pytest.param(view(NEW, served=SERVES_OLD, since=trusted(CA, OLD, since=NOW - 30 * SECOND)), NOW,
                 True, id="a running one serves what has settled"),
    pytest.param(view(NEW, served=SERVES_OLD, since=trusted(CA, since=NOW)), NOW, True,
                 id="at once when what it serves is trusted no more"),
    pytest.param(view(served=SERVES_OLD, since=trusted(CA, OLD, since=NOW)), NOW, True,
                 id="at once when what it serves will be trusted no more"),
    pytest.param(
        view(replace(NEW, leaf=leaf(CA, NOW + 89 * DAY)), served=SERVES_OLD,
             since=trusted(CA, OLD, since=NOW + 90 * DAY)), NOW + 90 * DAY, True,
        id="at once when what it serves has expired"),
    pytest.param(view(replace(GOOD, leaf=leaf(CA)), since={}), NOW, True,
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
    action = decided(seen, now, Write, Publish)
    assert isinstance(action, Serve if served else Wait)
    if isinstance(action, Serve):
        assert (action.leaf, action.authority) == (seen.contents.leaf, CA.certificate)


OTHER = pem([OLD.certificate])


@pytest.mark.parametrize("published", [(b"", b""), (GOOD.bundle, b""), (OTHER, GOOD.bundle)])
def test_every_bundle_that_differs_is_written(published: tuple[bytes, ...]) -> None:
    assert decided(view(published=published)) == Publish(GOOD.bundle)


def test_without_a_configuration_nothing_is_written() -> None:
    assert decided(view(published=())) == Wait(DUE)


def test_without_the_secret_only_empty_bundles_are_filled() -> None:
    """The remembered CA may be revoked, and a bundle without it may be right."""
    seen = view(stored=False, published=(OTHER, OTHER))
    assert decided(seen) == Wait(DUE)
    assert decided(replace(seen, published=(OTHER, b""))) == Publish(OTHER)
    assert decided(replace(seen, published=(b"", b""))) == Publish(GOOD.bundle)


def test_without_a_secret_each_replica_adds_the_ca_of_its_certificate() -> None:
    """Another client writes the caBundles from now on, and may not know this CA."""
    seen = view(stored=False, absent=True, published=(OTHER, GOOD.bundle))
    both = pem([OLD.certificate, CA.certificate])
    assert decided(seen) == Publish(both)
    assert decided(replace(seen, published=(OTHER, OTHER))) == Publish(both)
    other = replace(seen, published=(both, both), served=Served(LEAF.certificate, NEXT.certificate))
    three = pem([OLD.certificate, CA.certificate, NEXT.certificate])
    assert decided(other) == Publish(three)
    assert isinstance(decided(replace(seen, published=(three, three))), Wait)
    assert isinstance(
        decided(replace(seen, published=(OTHER, OTHER), served=None), NOW, Serve), Wait
    )


def test_with_unreadable_bundles_a_leaf_is_renewed_but_no_ca_is_made() -> None:
    seen = view(Contents(), published=None, since={}, served=None)
    assert isinstance(decided(seen), Wait)
    assert decided(view(published=None, since={}), DUE) == renew("two thirds of its life are over")


def test_a_ca_that_this_replica_serves_is_recorded_before_the_bundle_is_written() -> None:
    carried = pem([OLD.certificate])
    seen = view(served=SERVES_OLD, published=(carried, carried), since=trusted(OLD))
    step = written(seen)
    assert step.change is SecretChange.ADOPT
    assert step.contents.trusted == (CA.certificate, OLD.certificate)
    assert step.contents.previous[0].trusted_until == OLD_LEAF.certificate.not_valid_after_utc
    # If it cannot be recorded, the others' bundle must not push it out.
    assert decided(seen, NOW, Write) == Wait(DUE)


def test_a_ca_that_no_bundle_carries_is_not_recorded() -> None:
    seen = view(served=SERVES_OLD, published=(b"", b""), since={})
    assert decided(seen) == Publish(GOOD.bundle)


def test_a_failed_step_does_not_stop_the_others() -> None:
    seen = view(request=RotationRequest.LEAF, published=(b"",))
    assert isinstance(decided(seen), Write)
    assert isinstance(decided(seen, NOW, Write), Publish)
    assert isinstance(decided(seen, NOW, Publish), Write)


def test_a_generated_ca_keeps_every_served_certificate_trusted() -> None:
    foreign, past = (authority().certificate for _ in range(2))
    seen = view(
        Contents(previous=(PREVIOUS, PreviousAuthority(past, NOW)), problems=("x",)),
        served=SERVED,
        published=(pem([foreign, CA.certificate, EXPIRED.certificate]), OTHER),
    )
    made = written(seen).contents
    leaf_end = NOW + PLAN.leaf_lifetime
    assert {one.certificate: one.trusted_until for one in made.previous} == {
        OLD.certificate: PREVIOUS.trusted_until,
        CA.certificate: LEAF.certificate.not_valid_after_utc,
        # Nothing says until when it is needed.
        foreign: leaf_end,
    }
    assert (made.problems, made.next) == ((), None)
    asked = written(replace(seen, request=RotationRequest.CA)).contents
    assert {one.trusted_until for one in asked.previous} == {NOW + PLAN.revocation_period}


def test_a_whole_machines_authorities_are_not_taken_over() -> None:
    many = pem([authority().certificate for _ in range(20)])
    made = written(view(Contents(), published=(many,))).contents
    assert len(made.previous) == 17  # sixteen, and what is served


def test_a_promoted_ca_issues_and_the_old_one_stays_as_long_as_its_leaf() -> None:
    made = written(view(WITH_NEXT)).contents
    assert made.authority == NEXT
    assert made.next is None
    leaf_end = LEAF.certificate.not_valid_after_utc
    assert made.previous == (PreviousAuthority(CA.certificate, leaf_end),)
    forced = replace(GOOD, next=NextAuthority(NEXT, forced=True))
    (soon,) = written(view(forced)).contents.previous
    assert soon == PreviousAuthority(CA.certificate, NOW + PLAN.revocation_period)


def test_a_finished_step_is_settled_at_once() -> None:
    """No step leads to itself again: replicas would write without end."""
    for parameters in SECRET_STEPS:
        values: Any = parameters.values
        seen, now, _ = values
        step = decide(seen, now, PLAN)
        if not isinstance(step, Write):
            continue
        request = None if step.answers else seen.request
        after = view(step.contents, request=request, served=seen.served, since={})
        again = decide(after, now, PLAN)
        assert not isinstance(again, Write) or again.change is not step.change, parameters.id


FORCED = replace(GOOD, next=NextAuthority(NEXT, forced=True))


@pytest.mark.parametrize(
    ("seen", "change", "answered"),
    [
        (view(request=RotationRequest.LEAF), SecretChange.RENEW, True),
        (view(replace(GOOD, leaf=None), request=RotationRequest.CA), SecretChange.RENEW, False),
        (view(request=RotationRequest.CA), SecretChange.ADD_NEXT, False),
        (view(FORCED, request=RotationRequest.CA), SecretChange.PROMOTE, True),
        (view(WITH_NEXT), SecretChange.PROMOTE, False),
        (view(Contents(), request=RotationRequest.CA), SecretChange.GENERATE, True),
        (view(Contents()), SecretChange.GENERATE, False),
        (view(DAMAGED), SecretChange.TIDY, False),
    ],
)
def test_when_an_admins_request_is_done(seen: View, change: SecretChange, answered: bool) -> None:
    step = written(seen)
    assert (step.change, step.answers) == (change, answered)


def test_the_go_operators_certificate_is_served_and_then_replaced_by_a_faster_one() -> None:
    their_leaf = leaf(GO_CA)
    seen = view(Contents(GO_CA, their_leaf), served=None, since=trusted(GO_CA, since=NOW))
    assert decided(seen) == Serve(their_leaf, GO_CA.certificate)
    assert contents().authority != GO_CA
