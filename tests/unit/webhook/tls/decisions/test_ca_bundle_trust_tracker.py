from datetime import timedelta

from tests.support.fakes.tls import START, authority
from webhook.tls.decisions.ca_bundle import Trust, TrustTracker
from webhook.tls.decisions.certificates import pem

A, B = authority().certificate, authority().certificate
SECOND = timedelta(seconds=1)


def test_a_ca_is_trusted_since_it_was_first_seen_in_every_bundle() -> None:
    tracker = TrustTracker()
    assert tracker.observe([pem([A]), b""], [A, B], START) == Trust({}, frozenset())
    first = START + SECOND
    assert tracker.observe([pem([A]), pem([B, A])], [A, B], first) == Trust({A: first}, frozenset())
    second = first + SECOND
    both = [pem([A, B])] * 2
    assert tracker.observe(both, [A, B], second) == Trust({A: first, B: second}, frozenset())


def test_a_bundle_that_was_missing_once_restarts_the_wait() -> None:
    tracker = TrustTracker()
    tracker.observe([pem([A])], [A], START)
    tracker.observe([b""], [A], START + SECOND)
    later = START + 2 * SECOND
    assert tracker.observe([pem([A])], [A], later).since == {A: later}


def test_bundles_of_the_first_read_are_remembered() -> None:
    tracker = TrustTracker()
    tracker.observe([pem([A])], [A, B], START)
    assert tracker.observe([pem([B])], [A, B], START).from_start == frozenset({A})


def test_without_any_bundle_everything_counts_as_carried() -> None:
    assert TrustTracker().observe([], [A], START).since == {A: START}


def test_a_clock_that_is_set_back_does_not_prolong_the_wait() -> None:
    tracker = TrustTracker()
    tracker.observe([pem([A])], [A], START + timedelta(days=1))
    assert tracker.observe([pem([A])], [A], START).since == {A: START}
