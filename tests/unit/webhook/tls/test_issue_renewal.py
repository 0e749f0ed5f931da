from datetime import timedelta

from tests.support.fakes.tls import START, authority, leaf
from webhook.tls.issue import due_at, made_at


def test_a_certificate_is_due_when_two_thirds_of_its_life_are_over() -> None:
    certificate = leaf(authority(), life=timedelta(minutes=85)).certificate  # from 5 minutes ago
    assert due_at(certificate) == START + timedelta(minutes=55)


def test_when_it_was_made() -> None:
    now = START + timedelta(days=3)
    assert made_at(leaf(authority(), now).certificate) == now
