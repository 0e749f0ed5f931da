"""Read and write certificates and their private keys as PEM. Reading is strict. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import (
    Certificate,
    DuplicateExtension,
    InvalidVersion,
    UnsupportedGeneralNameType,
    load_pem_x509_certificate,
)

# The Go operator's certificates have RSA keys; new ones have elliptic keys (fast handshakes).
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

# In bits; OpenSSL refuses to serve with a shorter one.
_SHORTEST_RSA: Final = 2048
# The curves that Go, the API server's language, supports.
_CURVES: Final = (ec.SECP224R1, ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)

# All errors that reading a certificate raises; they have no common base.
_UNREADABLE: Final = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    DuplicateExtension,
    InvalidVersion,
    UnsupportedGeneralNameType,
)

_CERTIFICATE: Final = re.compile(
    rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL
)


class UnusablePem(ValueError):
    """Raised for a text without a usable certificate, key or pair. The message never quotes it."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key. Pairs are equal if their certificates are."""

    certificate: Certificate
    key: PrivateKey = field(compare=False, repr=False)

    @classmethod
    def from_pem(cls, certificate: bytes, key: bytes) -> "KeyPair":
        """Read one certificate and one unencrypted key. Raise UnusablePem."""
        pair = cls(certificate_from_pem(certificate), _key_from_pem(key))
        if pair.certificate.public_key() != pair.key.public_key():
            raise UnusablePem("the key belongs to another certificate")
        return pair

    @property
    def certificate_pem(self) -> bytes:
        return pem([self.certificate])

    @property
    def key_pem(self) -> bytes:
        """Return the unencrypted key, PKCS #8."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def pem(certificates: Iterable[Certificate]) -> bytes:
    """Write the certificates as a bundle, in their order."""
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in certificates)


def certificate_from_pem(text: bytes) -> Certificate:
    """Return the only certificate of a text. Raise UnusablePem."""
    blocks = _CERTIFICATE.findall(text)
    if len(blocks) != 1:
        raise UnusablePem(f"it holds {len(blocks)} PEM certificates instead of one")
    certificate = _readable(blocks[0])
    if certificate is None:
        raise UnusablePem("its certificate is damaged")
    return certificate


def certificates_in(bundle: bytes) -> list[Certificate]:
    """Return the readable certificates of a bundle. The API server skips the others too."""
    found = [_readable(block) for block in _CERTIFICATE.findall(bundle)]
    return [certificate for certificate in found if certificate is not None]


def _readable(block: bytes) -> Certificate | None:
    try:
        certificate = load_pem_x509_certificate(block)
        # The package decodes these at the first access. Errors must appear here, not later.
        _ = (certificate.extensions, certificate.public_key(), certificate.subject)
        _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    except _UNREADABLE:
        return None
    return certificate


def _key_from_pem(text: bytes) -> PrivateKey:
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except TypeError as error:
        raise UnusablePem("the key is encrypted") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnusablePem("the key is no PEM private key") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise UnusablePem("the key is neither an elliptic nor an RSA key")
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < _SHORTEST_RSA:
        raise UnusablePem(f"the RSA key has {key.key_size} bits, fewer than {_SHORTEST_RSA}")
    if isinstance(key, ec.EllipticCurvePrivateKey) and not isinstance(key.curve, _CURVES):
        raise UnusablePem(f"the key is on a curve that clients do not know, {key.curve.name}")
    return key
