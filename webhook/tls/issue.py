"""Make certificates and their keys, and check those from another source.

A new CA, and the serving certificates ("leaves") that it issues, pass the checks of the API
server's TLS client: alternative names, key usage, and the leaf's name of its issuer's key. Pure for
a given key and time, except for the serial number. New keys are ECDSA on P-256: a handshake costs a
fraction of one with RSA.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import Certificate
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.tls.key_pair import KeyPair


def expires_at(certificate: Certificate) -> datetime:
    return certificate.not_valid_after_utc


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


Extension = TypeVar("Extension", bound=x509.ExtensionType)


def serving_names(namespace: str, service: str) -> tuple[str, ...]:
    """Return the names of a Service for clients in the cluster, the API server's first."""
    full = f"{service}.{namespace}.svc"
    return (full, f"{full}.cluster.local", f"{service}.{namespace}", service)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def make_authority(
    name: str,
    organization: str,
    life: timedelta,
    now: datetime,
    key: ec.EllipticCurvePrivateKey,
) -> KeyPair:
    """Make a CA that is valid from shortly before `now` until `life` after it.

    Name and organization have at most 64 characters.
    """
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
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
