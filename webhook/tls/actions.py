"""The steps in the life of the certificates, as data. As text each is an order, for the log."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, get_args

from cryptography.x509 import Certificate

from webhook.tls.key_pair import KeyPair


@dataclass(frozen=True, slots=True)
class Generate:
    """Make a CA and a leaf; CAs that somebody may trust or serve stay trusted."""

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
    """Record a CA, of which this replica serves a leaf, that the Secret does not know."""

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
    """Write this bundle into every caBundle that leads to us."""

    bundle: bytes = field(repr=False)

    def __str__(self) -> str:
        return "write the caBundle"


@dataclass(frozen=True, slots=True)
class DropPrevious:
    """Cease to trust what is over."""

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
    """Write the Secret without what is unusable in it."""

    why: str

    def __str__(self) -> str:
        return f"remove what is unusable ({self.why})"


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before `until`, unless something changes."""

    until: datetime


SecretAction = Generate | Adopt | RenewLeaf | DropPrevious | Promote | AddNext | Tidy
Action = SecretAction | Serve | Publish | Wait
SECRET_ACTIONS: Final[frozenset[type[Action]]] = frozenset(get_args(SecretAction))
