"""Decide the next step in the life of the certificates. Pure: `decide(view, now, plan)`.

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

from collections import deque
from collections.abc import Callable
from datetime import datetime
from itertools import chain
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import Certificate

from webhook.tls.decisions.certificates import (
    KeyPair,
    certificates_in,
    due_at,
    expires_at,
    is_to_come,
    leaf_problem,
    made_at,
    pem,
)
from webhook.tls.decisions.steps import (
    SECRET_ACTIONS,
    Action,
    AddNext,
    Adopt,
    DropPrevious,
    Generate,
    Plan,
    Promote,
    Publish,
    RenewLeaf,
    Request,
    Serve,
    Tidy,
    View,
    Wait,
    without_past,
)


def decide(
    view: View, now: datetime, plan: Plan, blocked: frozenset[type[Action]] = frozenset()
) -> Action:
    """Return the next step. `blocked` are the classes of steps that fail at present.

    A failing step must not block the others: if the Secret cannot be written, the caBundle is still
    restored.
    """
    if not view.stored:
        blocked |= SECRET_ACTIONS
    for rule in _RULES:
        action = rule(view, now, plan)
        if action is not None and type(action) not in blocked:
            return action
    return Wait(_next_moment(view, now, plan))


def _generate(view: View, now: datetime, _plan: Plan) -> Action | None:
    contents = view.contents
    if contents.authority is None:
        return Generate("; ".join(contents.problems) or "it is empty")
    authority = contents.authority.certificate
    if is_to_come(authority, now):
        return Generate(f"its CA is not valid before {authority.not_valid_before_utc}")
    end = expires_at(authority)
    return Generate(f"its CA expired at {end}") if end <= now else None


def _serve(view: View, now: datetime, plan: Plan) -> Action | None:
    authority, leaf = view.contents.authority, view.contents.leaf
    if authority is None or leaf is None or expires_at(leaf.certificate) <= now:
        return None
    if is_to_come(leaf.certificate, now):
        return None
    if view.served is not None and view.served.leaf == leaf.certificate:
        return None
    if leaf_problem(leaf, authority, plan.names) is not None:
        return None
    if not _may_serve(view, authority.certificate, now, plan):
        return None
    return Serve(leaf, authority.certificate)


def _may_serve(view: View, authority: Certificate, now: datetime, plan: Plan) -> bool:
    """True if clients will accept a leaf of the CA in use, or reject the served one anyway."""
    served, since = view.served, view.trust.since.get(authority)
    if served is not None and served.authority == authority:
        return True
    if since is None:
        return False
    if since + plan.settle_period <= now:
        return True
    if served is None:
        return _settled_before_us(view, authority, now, plan)
    # Clients reject the served certificate already, or will soon.
    return (
        expires_at(served.leaf) <= now
        or served.authority not in view.trust.since
        or served.authority not in view.contents.trusted
    )


def _settled_before_us(view: View, authority: Certificate, now: datetime, plan: Plan) -> bool:
    """True if a process that serves nothing yet need not wait until API servers trust the CA.

    At a first installation no client trusts another CA, so waiting gains nothing. Later a CA is
    younger than the settle period only if the Secret was emptied while replicas ran.
    """
    if not view.contents.previous:
        return True
    carried = authority in view.trust.from_start
    return carried and made_at(authority) + plan.settle_period <= now


def _adopt(view: View, now: datetime, _plan: Plan) -> Action | None:
    served = view.served
    if served is None or view.contents.authority is None or expires_at(served.leaf) <= now:
        return None
    if served.authority in view.contents.trusted or served.authority not in view.trust.since:
        return None
    return Adopt(served.authority, expires_at(served.leaf))


def _renew_leaf(view: View, now: datetime, plan: Plan) -> Action | None:
    authority, leaf = view.contents.authority, view.contents.leaf
    if authority is None:
        return None
    if leaf is None:
        return RenewLeaf("; ".join(view.contents.problems) or "there is none")
    if (problem := leaf_problem(leaf, authority, plan.names)) is not None:
        return RenewLeaf(problem)
    if is_to_come(leaf.certificate, now):
        return RenewLeaf(f"it is not valid before {leaf.certificate.not_valid_before_utc}")
    if view.request is Request.LEAF:
        return RenewLeaf("an admin asked for it")
    if not isinstance(leaf.key, ec.EllipticCurvePrivateKey):
        return RenewLeaf("handshakes with its RSA key are slow")
    # At the end of a CA's life a new leaf may end no later than the old one.
    gains = min(now + plan.leaf_life, expires_at(authority.certificate))
    if due_at(leaf.certificate) <= now and gains > expires_at(leaf.certificate):
        return RenewLeaf("two thirds of its life are over")
    return None


def _publish(view: View, now: datetime, plan: Plan) -> Action | None:
    if view.contents.authority is None or _adopt(view, now, plan) is not None:
        return None
    if not view.stored:
        return _publish_from_memory(view)
    bundle = view.contents.bundle
    return None if all(one == bundle for one in view.published) else Publish(bundle)


def _publish_from_memory(view: View) -> Action | None:
    """Publish without a Secret: replicas may remember different CAs, so each only adds its own."""
    ours = view.contents.trusted
    found = [certificates_in(one) for one in view.published]
    if view.unread:
        return _fill_empty(ours, found)
    if all(one in bundle for bundle in found for one in ours):
        return None
    return Publish(pem(dict.fromkeys((*ours, *chain.from_iterable(found)))))


def _fill_empty(ours: tuple[Certificate, ...], found: list[list[Certificate]]) -> Action | None:
    """Fill empty caBundles from the others if any has CAs: a remembered CA may be revoked."""
    if all(found):
        return None
    return Publish(pem(dict.fromkeys(chain.from_iterable(found)) or ours))


def _drop_previous(view: View, now: datetime, _plan: Plan) -> Action | None:
    contents = view.contents
    return None if without_past(contents, now) == contents else DropPrevious()


def _promote(view: View, now: datetime, plan: Plan) -> Action | None:
    following = view.contents.next
    if following is None or _stale(following.pair, now):
        return None
    since = view.trust.since.get(following.pair.certificate)
    return Promote() if since is not None and since + plan.settle_period <= now else None


def _add_next(view: View, now: datetime, _plan: Plan) -> Action | None:
    authority, following = view.contents.authority, view.contents.next
    if authority is None:
        return None
    waiting = following is not None and not _stale(following.pair, now)
    # Replace a next CA that no admin requested: its key may be stolen like the rest of the Secret.
    forced = following is not None and following.forced
    if view.request is Request.CA and not (waiting and forced):
        return AddNext("an admin asked for it", forced=True)
    if due_at(authority.certificate) <= now and not waiting:
        return AddNext("two thirds of the CA's life are over")
    return None


def _stale(pair: KeyPair, now: datetime) -> bool:
    return due_at(pair.certificate) <= now or is_to_come(pair.certificate, now)


def _tidy(view: View, _now: datetime, _plan: Plan) -> Action | None:
    problems = view.contents.problems
    return Tidy("; ".join(problems)) if problems else None


_RULES: Final[tuple[Callable[[View, datetime, Plan], Action | None], ...]] = (
    # Without a CA nothing else is possible.
    _generate,
    # Needs no write, so it comes before the steps that can fail.
    _serve,
    # Before the bundle is written without it.
    _adopt,
    _renew_leaf,
    _publish,
    _drop_previous,
    _promote,
    _add_next,
    _tidy,
)


def _next_moment(view: View, now: datetime, plan: Plan) -> datetime:
    """Return when a rule may decide differently without any change; the far future if never."""
    contents, settle = view.contents, plan.settle_period
    moments = [since + settle for since in view.trust.since.values()]
    moments += [one.trusted_until for one in contents.previous]
    for pair in (contents.authority, contents.leaf):
        if pair is not None:
            moments += [due_at(pair.certificate), expires_at(pair.certificate)]
            moments.append(made_at(pair.certificate) + settle)
    if view.served is not None:
        moments.append(expires_at(view.served.leaf))
    return min((one for one in moments if one > now), default=now + plan.leaf_life)


class WriteLimit:
    """Limit the writes of two clients that keep reverting each other.

    Allow `burst` writes at once, and at most that many in any `window` seconds.
    """

    def __init__(self, burst: int, window: float) -> None:
        self._window = window
        self._written: deque[float] = deque(maxlen=burst)

    def wrote(self, at: float) -> None:
        """Count a write; `at` is monotonic, in seconds."""
        self._written.append(at)

    def delay(self, at: float) -> float:
        """Return the seconds until the next write is allowed; 0 if it is allowed now."""
        if len(self._written) < (self._written.maxlen or 0):
            return 0.0
        return max(0.0, self._written[0] + self._window - at)
