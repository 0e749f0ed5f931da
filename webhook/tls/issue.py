"""Read, make and check certificates and their keys as values.

Reading is strict. A new CA, and the serving certificates ("leaves") that it issues, pass the checks
of the API server's TLS client: alternative names, key usage, and the leaf's name of its issuer's
key. Pure for a given key and time, except for the serial number. New keys are ECDSA on P-256: a
handshake costs a fraction of one with RSA.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import (
    Certificate,
    DuplicateExtension,
    InvalidVersion,
    UnsupportedGeneralNameType,
    load_pem_x509_certificate,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

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
        """Return the certificate without the key."""
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


def expires_at(certificate: Certificate) -> datetime:
    """Return the end of its validity."""
    return certificate.not_valid_after_utc


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


# When certificates are replaced.

# Certificates begin in the past: they must be valid for a server whose clock is behind.
BACKDATED: Final = timedelta(minutes=5)


def due_at(certificate: Certificate) -> datetime:
    """Return when two thirds of its life are over: it must be replaced from then on."""
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_before_utc + life * 2 / 3


def is_to_come(certificate: Certificate, now: datetime) -> bool:
    """True if it is not valid yet: the clock of its maker was ahead."""
    return now < certificate.not_valid_before_utc


def made_at(certificate: Certificate) -> datetime:
    """Return when this webhook made it; meaningless for other certificates."""
    return certificate.not_valid_before_utc + BACKDATED


# Make a CA, and leaves that it issues; check those from another source.

Extension = TypeVar("Extension", bound=x509.ExtensionType)


@dataclass(frozen=True, slots=True)
class AuthorityName:
    """The name of a CA; each part has at most 64 characters."""

    common_name: str
    organization: str


def serving_names(namespace: str, service: str) -> tuple[str, ...]:
    """Return the names of a Service for clients in the cluster, the API server's first."""
    full = f"{service}.{namespace}.svc"
    return (full, f"{full}.cluster.local", f"{service}.{namespace}", service)


def new_key() -> ec.EllipticCurvePrivateKey:
    """Make a private key for a new certificate."""
    return ec.generate_private_key(ec.SECP256R1())


def make_authority(
    name: AuthorityName, life: timedelta, now: datetime, key: ec.EllipticCurvePrivateKey
) -> KeyPair:
    """Make a CA that is valid from shortly before `now` until `life` after it."""
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, name.organization),
            x509.NameAttribute(NameOID.COMMON_NAME, name.common_name),
        ]
    )
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _builder(subject, subject, key, now, now + life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(own, critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(certificate, key)


def issue_leaf(
    authority: KeyPair,
    names: Sequence[str],
    life: timedelta,
    now: datetime,
    key: ec.EllipticCurvePrivateKey,
) -> KeyPair:
    """Issue a serving certificate for `names` that expires no later than its CA."""
    # A common name has at most 64 characters; clients check the alternative names.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    end = min(now + life, expires_at(authority.certificate))
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    certificate = (
        _builder(subject, authority.certificate.subject, key, now, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(usage, critical=False)
        .add_extension(alternatives, critical=False)
        .add_extension(_issuer_key(authority.certificate), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return KeyPair(certificate, key)


def is_authority(certificate: x509.Certificate) -> bool:
    """True if clients accept certificates that this one signed."""
    constraints = _extension(certificate, x509.BasicConstraints)
    usage = _extension(certificate, x509.KeyUsage)
    return constraints is not None and constraints.ca and usage is not None and usage.key_cert_sign


def leaf_problem(leaf: KeyPair, authority: KeyPair, names: Sequence[str]) -> str | None:
    """Return why clients that trust `authority` would reject the leaf for `names`; None if not."""
    try:
        leaf.certificate.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return "tls.crt was not issued by ca.crt"
    usage = _extension(leaf.certificate, x509.ExtendedKeyUsage)
    if usage is None or ExtendedKeyUsageOID.SERVER_AUTH not in usage:
        return "tls.crt is not for servers"
    alternatives = _extension(leaf.certificate, x509.SubjectAlternativeName)
    given = [] if alternatives is None else alternatives.get_values_for_type(x509.DNSName)
    # The API server requests the first name; the others are for people.
    if names[0] not in given:
        return f"tls.crt is not for {names[0]}"
    return None


def _extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before((now - BACKDATED).replace(microsecond=0))
        .not_valid_after(end.replace(microsecond=0))
    )


def _issuer_key(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Return the CA's name for its key: it identifies the issuer among CAs with one name."""
    own = _extension(authority, x509.SubjectKeyIdentifier)
    if own is None:
        key = authority.public_key()
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
