"""What the next step in the life of the certificates is decided from. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography.x509 import Certificate

from webhook.tls.decisions.certificates import AuthorityName, KeyPair, pem

# What the replicas share through the Secret: CAs, and the certificate that all of them serve.


@dataclass(frozen=True, slots=True)
class NextAuthority:
    """A CA that is being made known; nothing is issued by it yet.

    `forced`: an admin asked for it, and the one it replaces is not to be trusted for long.
    """

    pair: KeyPair
    forced: bool = False


@dataclass(frozen=True, slots=True)
class PreviousAuthority:
    """A CA that issues nothing any more, trusted while a certificate of it may be served."""

    certificate: Certificate
    trusted_until: datetime


@dataclass(frozen=True, slots=True)
class Contents:
    """The usable part of a Secret.

    `problems` says, one line each, what was there but unusable; `orphans` are CAs that were there
    without a usable key, of which certificates may be in use.
    """

    authority: KeyPair | None = None
    leaf: KeyPair | None = None
    next: NextAuthority | None = None
    previous: tuple[PreviousAuthority, ...] = ()
    orphans: tuple[Certificate, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def trusted(self) -> tuple[Certificate, ...]:
        """Every CA that clients are to trust, each once, the one in use first."""
        found: dict[Certificate, None] = {}
        if self.authority is not None:
            found[self.authority.certificate] = None
        if self.next is not None:
            found[self.next.pair.certificate] = None
        found.update((one.certificate, None) for one in self.previous)
        return tuple(found)

    @property
    def bundle(self) -> bytes:
        """`trusted` as PEM: what belongs into the caBundle."""
        return pem(self.trusted)


class Request(StrEnum):
    """What an admin may ask for by an annotation of the Secret."""

    LEAF = "leaf"
    CA = "ca"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the configuration says. `names` are those of the leaf, the API server's first."""

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
class Trust:
    """Since when each CA has been in every caBundle that leads to us, as this process saw it.

    A CA that is missing in one of them is not in `since`. `from_start` are those that were carried
    when this process first looked. Without any caBundle (both configurations deleted) nobody asks
    us, and every CA counts as carried.
    """

    since: Mapping[Certificate, datetime] = field(default_factory=dict)
    from_start: frozenset[Certificate] = frozenset()


@dataclass(frozen=True, slots=True)
class View:
    """What there is. `published` are the caBundles that lead to us, PEM, empty where absent.

    `stored` is False where there is no Secret: `contents` are then those that it had last. So are
    they where it could not be read, with `unread`: others may have changed it meanwhile.
    """

    contents: Contents
    stored: bool = True
    request: Request | None = None
    published: tuple[bytes, ...] = ()
    trust: Trust = field(default_factory=Trust)
    served: Served | None = None
    unread: bool = False
