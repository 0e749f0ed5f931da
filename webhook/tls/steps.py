"""What the Secret holds after a step of `rotation`. Pure, given the maker of keys."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import Certificate

from webhook.tls.actions import (
    AddNext,
    Adopt,
    DropPrevious,
    Generate,
    Promote,
    RenewLeaf,
    SecretAction,
    Tidy,
)
from webhook.tls.authority import issue_leaf, make_authority, new_key
from webhook.tls.contents import Contents, NextAuthority, PreviousAuthority
from webhook.tls.key_pair import KeyPair, certificates_in, expires_at
from webhook.tls.rotation import without_past
from webhook.tls.view import Plan, Request, View

NewKey = Callable[[], ec.EllipticCurvePrivateKey]
# Of the CAs that are found in caBundles: some put all authorities of a machine there.
_MOST_FOUND = 16


def contents_after(
    action: SecretAction, view: View, now: datetime, plan: Plan, new_key: NewKey = new_key
) -> Contents:
    """The contents to write."""
    contents = replace(view.contents, problems=(), orphans=())
    match action:
        case Generate():
            made = _generated(view, now, plan, new_key)
        case RenewLeaf():
            assert contents.authority is not None
            leaf = _leaf(contents.authority, now, plan, new_key)
            made = replace(contents, leaf=leaf)
        case AddNext(forced=forced):
            pair = make_authority(plan.authority_name, plan.ca_life, now, new_key())
            made = replace(contents, next=NextAuthority(pair, forced))
        case Promote():
            made = _promoted(contents, now, plan, new_key)
        case Adopt(certificate=certificate, trusted_until=until):
            adopted = PreviousAuthority(certificate, until)
            made = replace(contents, previous=(*contents.previous, adopted))
        case DropPrevious() | Tidy():
            made = contents
        case _:
            assert_never(action)
    return without_past(made, now)


def answers_request(action: SecretAction, view: View) -> bool:
    """Whether with this step done, what the admin asked for is done."""
    match action:
        case Generate():
            return view.request is not None
        case RenewLeaf():
            return view.request is Request.LEAF
        case Promote():
            following = view.contents.next
            return view.request is Request.CA and following is not None and following.forced
        case _:
            return False


def _generated(view: View, now: datetime, plan: Plan, new_key: NewKey) -> Contents:
    authority = make_authority(plan.authority_name, plan.ca_life, now, new_key())
    known = _somebody_may_trust(view, now, plan)
    if view.request is Request.CA:
        soon = now + plan.revocation_period
        known = {certificate: min(until, soon) for certificate, until in known.items()}
    previous = tuple(PreviousAuthority(each, until) for each, until in known.items())
    return Contents(authority, _leaf(authority, now, plan, new_key), None, previous)


def _somebody_may_trust(view: View, now: datetime, plan: Plan) -> dict[Certificate, datetime]:
    """CAs of which a replica may serve a leaf still, with the time until which it may."""
    known = {one.certificate: one.trusted_until for one in view.contents.previous}
    if view.served is not None:
        known[view.served.authority] = expires_at(view.served.leaf)
    # Nothing tells until when these are needed; a leaf made right now lives the longest.
    found = dict.fromkeys(each for one in view.published for each in certificates_in(one))
    for certificate in (*view.contents.orphans, *list(found)[:_MOST_FOUND]):
        known.setdefault(certificate, now + plan.leaf_life)
    return known


def _promoted(contents: Contents, now: datetime, plan: Plan, new_key: NewKey) -> Contents:
    assert contents.next is not None
    pair, previous = contents.next.pair, contents.previous
    if contents.authority is not None:
        leaf = contents.leaf
        until = now + plan.leaf_life if leaf is None else expires_at(leaf.certificate)
        if contents.next.forced:
            until = min(until, now + plan.revocation_period)
        previous = (*previous, PreviousAuthority(contents.authority.certificate, until))
    return Contents(pair, _leaf(pair, now, plan, new_key), None, previous)


def _leaf(authority: KeyPair, now: datetime, plan: Plan, new_key: NewKey) -> KeyPair:
    return issue_leaf(authority, plan.names, plan.leaf_life, now, new_key())
