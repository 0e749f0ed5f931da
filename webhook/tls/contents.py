"""What the replicas share through the Secret: CAs, and the certificate that all of them serve."""

from dataclasses import dataclass
from datetime import datetime

from cryptography.x509 import Certificate

from webhook.tls.key_pair import KeyPair, pem


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
