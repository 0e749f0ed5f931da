"""Declare the input for the next step in the life of the certificates. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography.x509 import Certificate

from webhook.tls.decisions.certificates import AuthorityName, KeyPair, pem

# The replicas share CAs, and the certificate that all of them serve, through the Secret.


@dataclass(frozen=True, slots=True)
class NextAuthority:
    """A CA on its way into every caBundle; it has issued nothing yet.

    `forced` is set if an admin requested it: clients must soon stop trusting the replaced CA.
    """

    pair: KeyPair
    forced: bool = False


@dataclass(frozen=True, slots=True)
class PreviousAuthority:
    """A CA that issues nothing any more; it is trusted while a replica may serve a leaf of it."""

    certificate: Certificate
    trusted_until: datetime


@dataclass(frozen=True, slots=True)
class Contents:
    """The usable part of a Secret.

    `problems` describes each unusable item in one line. `orphans` are CAs without a usable key,
    whose certificates may be in use.
    """

    authority: KeyPair | None = None
    leaf: KeyPair | None = None
    next: NextAuthority | None = None
    previous: tuple[PreviousAuthority, ...] = ()
    orphans: tuple[Certificate, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def trusted(self) -> tuple[Certificate, ...]:
        """Return the CAs that clients must trust, each once, the one in use first."""
        found: dict[Certificate, None] = {}
        if self.authority is not None:
            found[self.authority.certificate] = None
        if self.next is not None:
            found[self.next.pair.certificate] = None
        found.update((one.certificate, None) for one in self.previous)
        return tuple(found)

    @property
    def bundle(self) -> bytes:
        """Return `trusted` as PEM, for the caBundle."""
        return pem(self.trusted)


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
class Trust:
    """Since when each CA has been in every caBundle of this webhook, as this process read them.

    `since` lacks a CA that is missing in one of them. `from_start` are the CAs that were in all of
    them at this process's first read. Without any caBundle (both configurations deleted) the API
    server does not call the webhook, and every CA counts as present.
    """

    since: Mapping[Certificate, datetime] = field(default_factory=dict)
    from_start: frozenset[Certificate] = frozenset()


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
