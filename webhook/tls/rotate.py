"""Decide the next step in the life of the certificates. Pure, except for new keys.

No request may fail because of a certificate. So a replica serves a leaf only after the API servers
trust its CA. No CA is dropped while a replica may serve a leaf of it:

    1. A replica writes a new CA into the Secret as the next one, and adds it to every caBundle.
    2. When every caBundle has held the new CA for the settle period, it issues a leaf, which the
       replicas serve.
    3. The old CA stays in the bundle until its last leaf has expired (after a rotation that an
       admin requested: for the revocation period).

A replica can be killed between any two steps: each step depends on the stored objects. Only since
when a CA is in every caBundle is in memory; a new process measures that again, which causes a
delay. All replicas take the same steps from the same Secret. The API server's resourceVersion
decides which replica writes; the others then read the result.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import Certificate

from shared.config.configuration import CertManagement
from webhook.tls.certificate_secret import Contents, NextAuthority, PreviousAuthority
from webhook.tls.issue import (
    due_at,
    expires_at,
    is_to_come,
    issue_leaf,
    leaf_problem,
    made_at,
    make_authority,
    new_key,
    serving_names,
)
from webhook.tls.key_pair import KeyPair, certificates_in, pem

# CAs to keep from caBundles: some admins write all authorities of a machine into them.
_MOST_FOUND: Final = 16


class RotationRequest(StrEnum):
    """A request of an admin in an annotation of the Secret."""

    LEAF = "leaf"
    CA = "ca"


@dataclass(frozen=True, slots=True)
class Served:
    leaf: Certificate
    authority: Certificate


@dataclass(frozen=True, slots=True)
class View:
    """The current state.

    `stored` is False if there is no readable Secret: `contents` are then the last known ones.
    `absent` is True if the API server answered that the Secret does not exist.
    `published` are this webhook's caBundles, PEM, empty if absent; None if they are unreadable.
    `since` is `trusted_since`.
    """

    contents: Contents
    stored: bool = True
    absent: bool = False
    request: RotationRequest | None = None
    published: tuple[bytes, ...] | None = ()
    since: Mapping[Certificate, datetime] = field(default_factory=dict)
    served: Served | None = None


class SecretChange(StrEnum):
    """A change of the Secret, as the log names it."""

    GENERATE = "make a CA and a certificate"
    ADOPT = "record the CA of the certificate that this replica serves"
    RENEW = "issue a certificate"
    PROMOTE = "issue a certificate of the next CA"
    ADD_NEXT = "make the next CA"
    TIDY = "remove what is not needed or not usable"


@dataclass(frozen=True, slots=True)
class Write:
    """Write these contents into the Secret. `answers` is True if this completes the request."""

    change: SecretChange
    why: str
    contents: Contents = field(compare=False, repr=False)
    answers: bool = False

    def __str__(self) -> str:
        return f"{self.change} ({self.why})"


@dataclass(frozen=True, slots=True)
class Serve:
    leaf: KeyPair
    authority: Certificate

    def __str__(self) -> str:
        return "serve another certificate"


@dataclass(frozen=True, slots=True)
class Publish:
    """Write this bundle into every caBundle of this webhook."""

    bundle: bytes = field(repr=False)

    def __str__(self) -> str:
        return "write the caBundle"


@dataclass(frozen=True, slots=True)
class Wait:
    """Take no step before `until`, unless something changes."""

    until: datetime


Step = Write | Serve | Publish | Wait


def decide(
    view: View, now: datetime, config: CertManagement, blocked: frozenset[type[Step]] = frozenset()
) -> Step:
    """Return the next step. `blocked` are the classes of steps that fail at present.

    A failing step must not block the others: if the Secret cannot be written, the caBundle is still
    restored.
    """
    if not view.stored:
        blocked |= {Write}
    for rule in _RULES:
        step = rule(view, now, config)
        if step is not None and type(step) not in blocked:
            return step
    return Wait(_next_moment(view, now, config))


def trusted_since(
    before: Mapping[Certificate, datetime],
    published: Sequence[bytes],
    concerned: Iterable[Certificate],
    now: datetime,
) -> dict[Certificate, datetime]:
    """Return since when each concerned CA has been in every caBundle, from reads of one process.

    Without any caBundle (both configurations deleted) the API server does not call the webhook, and
    every CA counts as present.
    """
    bundles = [frozenset(certificates_in(one)) for one in published]
    carried = (one for one in concerned if all(one in bundle for bundle in bundles))
    # After a clock was set back, a CA must not wait longer than from now on.
    return {one: min(before.get(one, now), now) for one in carried}


def _names(config: CertManagement) -> tuple[str, ...]:
    return serving_names(config.namespace, config.webhook_service_name)


def _new_authority(config: CertManagement, now: datetime) -> KeyPair:
    name, organization = config.certificate_name, config.certificate_org
    return make_authority(name, organization, config.ca_lifetime, now, new_key())


def _new_leaf(config: CertManagement, authority: KeyPair, now: datetime) -> KeyPair:
    return issue_leaf(authority, _names(config), config.leaf_lifetime, now, new_key())


def _generate(view: View, now: datetime, config: CertManagement) -> Write | None:
    contents = view.contents
    if view.published is None:
        return None  # the new CA would push out the trusted ones
    if contents.authority is None:
        why = "; ".join(contents.problems) or "it is empty"
    elif is_to_come(old := contents.authority.certificate, now):
        why = f"its CA is not valid before {old.not_valid_before_utc}"
    elif (end := expires_at(old)) <= now:
        why = f"its CA expired at {end}"
    else:
        return None
    # The CAs of leaves that a replica may still serve, each with the end of that time.
    known = {one.certificate: one.trusted_until for one in contents.previous}
    if view.served is not None:
        known[view.served.authority] = expires_at(view.served.leaf)
    # These have no known end; a leaf that is made right now lives longest.
    found = dict.fromkeys(each for one in view.published for each in certificates_in(one))
    for certificate in list(found)[:_MOST_FOUND]:
        known.setdefault(certificate, now + config.leaf_lifetime)
    if view.request is RotationRequest.CA:
        soon = now + config.revocation_period
        known = {certificate: min(until, soon) for certificate, until in known.items()}
    authority = _new_authority(config, now)
    previous = tuple(PreviousAuthority(each, until) for each, until in known.items())
    made = Contents(authority, _new_leaf(config, authority, now), None, previous)
    return Write(SecretChange.GENERATE, why, _tidied(made, now), view.request is not None)


def _serve(view: View, now: datetime, config: CertManagement) -> Serve | None:
    authority, leaf = view.contents.authority, view.contents.leaf
    if authority is None or leaf is None or expires_at(leaf.certificate) <= now:
        return None
    if is_to_come(leaf.certificate, now):
        return None
    if view.served is not None and view.served.leaf == leaf.certificate:
        return None
    if leaf_problem(leaf, authority, _names(config)) is not None:
        return None
    if not _may_serve(view, authority.certificate, now, config):
        return None
    return Serve(leaf, authority.certificate)


def _may_serve(view: View, authority: Certificate, now: datetime, config: CertManagement) -> bool:
    """True if clients will accept a leaf of the CA in use, or reject the served one anyway."""
    served, since = view.served, view.since.get(authority)
    if served is not None and served.authority == authority:
        return True
    if since is None:
        return False
    if since + config.settle_period <= now:
        return True
    if served is None:
        # At a first installation no client trusts another CA, so waiting gains nothing. Later a CA
        # is younger than the settle period only if the Secret was emptied while replicas ran.
        return not view.contents.previous or made_at(authority) + config.settle_period <= now
    # Clients reject the served certificate already, or will soon.
    return (
        expires_at(served.leaf) <= now
        or served.authority not in view.since
        or served.authority not in view.contents.trusted
    )


def _adopt(view: View, now: datetime, _config: CertManagement) -> Write | None:
    contents, served = view.contents, view.served
    if served is None or contents.authority is None or expires_at(served.leaf) <= now:
        return None
    if served.authority in contents.trusted or served.authority not in view.since:
        return None
    adopted = PreviousAuthority(served.authority, expires_at(served.leaf))
    made = replace(contents, previous=(*contents.previous, adopted))
    return Write(SecretChange.ADOPT, "the Secret lacks it", _tidied(made, now))


def _renew_leaf(view: View, now: datetime, config: CertManagement) -> Write | None:
    authority, leaf = view.contents.authority, view.contents.leaf
    if authority is None or (why := _renewal_reason(view, authority, leaf, now, config)) is None:
        return None
    made = replace(view.contents, leaf=_new_leaf(config, authority, now))
    return Write(SecretChange.RENEW, why, _tidied(made, now), view.request is RotationRequest.LEAF)


def _renewal_reason(
    view: View, authority: KeyPair, leaf: KeyPair | None, now: datetime, config: CertManagement
) -> str | None:
    if leaf is None:
        return "; ".join(view.contents.problems) or "there is none"
    if (problem := leaf_problem(leaf, authority, _names(config))) is not None:
        return problem
    if is_to_come(leaf.certificate, now):
        return f"it is not valid before {leaf.certificate.not_valid_before_utc}"
    if view.request is RotationRequest.LEAF:
        return "an admin asked for it"
    if not isinstance(leaf.key, ec.EllipticCurvePrivateKey):
        return "handshakes with its RSA key are slow"
    # At the end of a CA's life a new leaf may end no later than the old one.
    gains = min(now + config.leaf_lifetime, expires_at(authority.certificate))
    if due_at(leaf.certificate) <= now and gains > expires_at(leaf.certificate):
        return "two thirds of its life are over"
    return None


def _publish(view: View, now: datetime, config: CertManagement) -> Publish | None:
    if view.contents.authority is None or _adopt(view, now, config) is not None:
        return None
    published, bundle = view.published or (), view.contents.bundle
    if not view.stored:
        # A remembered CA may be revoked: only fill empty caBundles, from the others if possible.
        found = [certificates_in(one) for one in published]
        carried = dict.fromkeys(chain.from_iterable(found)) or dict.fromkeys(view.contents.trusted)
        # If an admin deleted the Secret, another client may replace the caBundles while this
        # replica still serves. Every replica only adds its CA, so none undoes another's write.
        needed = {view.served.authority} if view.absent and view.served is not None else set()
        if all(one and needed <= set(one) for one in found):
            return None
        bundle = pem(carried | dict.fromkeys(needed))
    return None if all(one == bundle for one in published) else Publish(bundle)


def _promote(view: View, now: datetime, config: CertManagement) -> Write | None:
    contents = view.contents
    authority, leaf, following = contents.authority, contents.leaf, contents.next
    # Earlier rules replace a missing CA or leaf.
    if authority is None or leaf is None or following is None or _is_stale(following.pair, now):
        return None
    since = view.since.get(following.pair.certificate)
    if since is None or since + config.settle_period > now:
        return None
    until = expires_at(leaf.certificate)
    if following.forced:
        until = min(until, now + config.revocation_period)
    previous = (*contents.previous, PreviousAuthority(authority.certificate, until))
    made = Contents(following.pair, _new_leaf(config, following.pair, now), None, previous)
    answers = view.request is RotationRequest.CA and following.forced
    return Write(SecretChange.PROMOTE, "every caBundle has it", _tidied(made, now), answers)


def _add_next(view: View, now: datetime, config: CertManagement) -> Write | None:
    authority, following = view.contents.authority, view.contents.next
    if authority is None:
        return None
    waiting = following is not None and not _is_stale(following.pair, now)
    # Replace a next CA that no admin requested: its key may be stolen like the rest of the Secret.
    forced = following is not None and following.forced
    requested = view.request is RotationRequest.CA and not (waiting and forced)
    if requested:
        why = "an admin asked for it"
    elif due_at(authority.certificate) <= now and not waiting:
        why = "two thirds of the CA's life are over"
    else:
        return None
    made = replace(view.contents, next=NextAuthority(_new_authority(config, now), requested))
    return Write(SecretChange.ADD_NEXT, why, _tidied(made, now))


def _is_stale(pair: KeyPair, now: datetime) -> bool:
    return due_at(pair.certificate) <= now or is_to_come(pair.certificate, now)


def _tidy(view: View, now: datetime, _config: CertManagement) -> Write | None:
    made = _tidied(view.contents, now)
    if made == view.contents:
        return None
    why = "; ".join(view.contents.problems) or "no replica serves a certificate of a previous CA"
    return Write(SecretChange.TIDY, why, made)


def _tidied(contents: Contents, now: datetime) -> Contents:
    """Remove problems, and previous CAs that have expired or are in use again."""
    in_use = [contents.authority, None if contents.next is None else contents.next.pair]
    certificates = {pair.certificate for pair in in_use if pair is not None}
    kept = tuple(
        one
        for one in contents.previous
        if one.certificate not in certificates
        and now < min(one.trusted_until, expires_at(one.certificate))
    )
    return replace(contents, previous=kept, problems=())


_RULES: Final[tuple[Callable[[View, datetime, CertManagement], Step | None], ...]] = (
    # Without a CA nothing else is possible.
    _generate,
    # Needs no write, so it comes before the steps that can fail.
    _serve,
    # Before the bundle is written without it.
    _adopt,
    _renew_leaf,
    _publish,
    _promote,
    _add_next,
    _tidy,
)


def _next_moment(view: View, now: datetime, config: CertManagement) -> datetime:
    """Return when a rule may decide differently without any change; the far future if never."""
    contents, settle = view.contents, config.settle_period
    moments = [since + settle for since in view.since.values()]
    moments += [one.trusted_until for one in contents.previous]
    for pair in (contents.authority, contents.leaf):
        if pair is not None:
            moments += [due_at(pair.certificate), expires_at(pair.certificate)]
            moments.append(made_at(pair.certificate) + settle)
    if view.served is not None:
        moments.append(expires_at(view.served.leaf))
    return min((one for one in moments if one > now), default=now + config.leaf_lifetime)
