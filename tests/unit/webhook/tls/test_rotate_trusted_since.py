from datetime import timedelta

from tests.support.fakes.tls import START, authority
from webhook.tls.key_pair import pem
from webhook.tls.rotate import trusted_since

A, B = authority().certificate, authority().certificate
SECOND = timedelta(seconds=1)


def test_a_ca_is_trusted_since_it_was_first_seen_in_every_bundle() -> None:
    assert trusted_since({}, [pem([A]), b""], [A, B], START) == {}
    first = trusted_since({}, [pem([A]), pem([B, A])], [A, B], START)
    assert first == {A: START}
    later = START + SECOND
    assert trusted_since(first, [pem([A, B])] * 2, [A, B], later) == {A: START, B: later}


def test_a_bundle_that_was_missing_once_restarts_the_wait() -> None:
    missing = trusted_since({A: START}, [b""], [A], START + SECOND)
    later = START + 2 * SECOND
    assert trusted_since(missing, [pem([A])], [A], later) == {A: later}


def test_without_any_bundle_every_ca_counts_as_trusted() -> None:
    assert trusted_since({}, [], [A], START) == {A: START}


def test_a_clock_that_is_set_back_does_not_prolong_the_wait() -> None:
    before = {A: START + timedelta(days=1)}
    assert trusted_since(before, [pem([A])], [A], START) == {A: START}
