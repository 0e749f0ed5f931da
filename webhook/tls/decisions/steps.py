"""Declare the steps in the life of the certificates, and compute the Secret after each.

The log shows a step's text, an imperative. Pure for a given maker of keys.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, assert_never, get_args

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import Certificate

from webhook.tls.decisions.ca_bundle import Trust
from webhook.tls.decisions.certificates import (
    AuthorityName,
    KeyPair,
    certificates_in,
    expires_at,
    issue_leaf,
    make_authority,
    new_key,
)
from webhook.tls.decisions.secret_data import Contents, NextAuthority, PreviousAuthority

# The input of a step.


class Request(StrEnum):
    """A request of an admin in an annotation of the Secret."""

    LEAF = "leaf"
    CA = "ca"


@dataclass(frozen=True, slots=True)
class Plan:
    """The configuration. `names` are the leaf's, the API server's first."""

    authority_name: AuthorityName
    names: tuple[str, ...]
    ca_life: timedelta
    leaf_life: timedelta
    settle_period: timedelta
    revocation_period: timedelta


@dataclass(frozen=True, slots=True)
class Served:
    """The certificate that this replica serves, and the CA that issued it."""

    leaf: Certificate
    authority: Certificate


@dataclass(frozen=True, slots=True)
class View:
    """The current state. `published` are this webhook's caBundles, PEM, empty if absent.

    `stored` is False if there is no Secret, or if it could not be read (`unread`): `contents` are
    then the last known ones. With `unread`, other replicas may have changed the Secret meanwhile.
    """

    contents: Contents
    stored: bool = True
    request: Request | None = None
    published: tuple[bytes, ...] = ()
    trust: Trust = field(default_factory=Trust)
    served: Served | None = None
    unread: bool = False


# The steps.


@dataclass(frozen=True, slots=True)
class Generate:
    """Make a CA and a leaf; CAs that a client may trust or a replica may serve stay trusted."""

    why: str

    def __str__(self) -> str:
        return f"make a CA and a certificate ({self.why})"


@dataclass(frozen=True, slots=True)
class Serve:
    """Serve this leaf from now on."""

    leaf: KeyPair
    authority: Certificate

    def __str__(self) -> str:
        return "serve another certificate"


@dataclass(frozen=True, slots=True)
class Adopt:
    """Record the served leaf's CA, which the Secret lacks."""

    certificate: Certificate
    trusted_until: datetime

    def __str__(self) -> str:
        return "record the CA of the certificate that this replica serves"


@dataclass(frozen=True, slots=True)
class RenewLeaf:
    """Issue a leaf from the CA in use."""

    why: str

    def __str__(self) -> str:
        return f"issue a certificate ({self.why})"


@dataclass(frozen=True, slots=True)
class Publish:
    """Write this bundle into every caBundle of this webhook."""

    bundle: bytes = field(repr=False)

    def __str__(self) -> str:
        return "write the caBundle"


@dataclass(frozen=True, slots=True)
class DropPrevious:
    """Stop trusting the previous CAs that have expired."""

    def __str__(self) -> str:
        return "drop CAs of which nothing is served any more"


@dataclass(frozen=True, slots=True)
class Promote:
    """Use the next CA: issue a leaf from it, and keep the old CA among the previous ones."""

    def __str__(self) -> str:
        return "issue a certificate by the next CA, which is known everywhere by now"


@dataclass(frozen=True, slots=True)
class AddNext:
    """Make the CA that will replace the one in use."""

    why: str
    forced: bool = False

    def __str__(self) -> str:
        return f"make the next CA ({self.why})"


@dataclass(frozen=True, slots=True)
class Tidy:
    """Write the Secret without its unusable items."""

    why: str

    def __str__(self) -> str:
        return f"remove what is unusable ({self.why})"


@dataclass(frozen=True, slots=True)
class Wait:
    """Take no step before `until`, unless something changes."""

    until: datetime


SecretAction = Generate | Adopt | RenewLeaf | DropPrevious | Promote | AddNext | Tidy
Action = SecretAction | Serve | Publish | Wait
SECRET_ACTIONS: Final[frozenset[type[Action]]] = frozenset(get_args(SecretAction))


# The Secret's contents after a step.

NewKey = Callable[[], ec.EllipticCurvePrivateKey]
# CAs to keep from caBundles: some admins write all authorities of a machine into them.
_MOST_FOUND = 16


def contents_after(
    action: SecretAction, view: View, now: datetime, plan: Plan, new_key: NewKey = new_key
) -> Contents:
    """Return the contents to write."""
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


def without_past(contents: Contents, now: datetime) -> Contents:
    """Remove previous CAs that have expired or are in use again."""
    in_use = [contents.authority, None if contents.next is None else contents.next.pair]
    certificates = {pair.certificate for pair in in_use if pair is not None}
    kept = tuple(
        one
        for one in contents.previous
        if one.certificate not in certificates
        and now < min(one.trusted_until, expires_at(one.certificate))
    )
    return replace(contents, previous=kept)


def answers_request(action: SecretAction, view: View) -> bool:
    """True if this step completes the admin's request."""
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
    """Return the CAs of leaves that a replica may still serve, each with the end of that time."""
    known = {one.certificate: one.trusted_until for one in view.contents.previous}
    if view.served is not None:
        known[view.served.authority] = expires_at(view.served.leaf)
    # These have no known end; a leaf that is made right now lives longest.
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
