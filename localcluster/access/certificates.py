"""Creates a cluster's certificate authority and its certificates, as PEM files in one folder.

They last ten years, so that no component renews its own certificate while a test runs.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = datetime.timedelta(days=3650)
_BACKDATED = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPairFiles:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates into one folder. `now` is when they begin to be valid."""

    def __init__(self, folder: Path, now: datetime.datetime) -> None:
        """Makes a new authority, in a folder that only this user may read."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._use(folder, now, ec.generate_private_key(ec.SECP256R1()))
        certificate = (
            self._builder(self._subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        self.key = folder / "ca.key"
        _write_key(self.key, self._key)

    @classmethod
    def load(cls, folder: Path, now: datetime.datetime, pair: KeyPairFiles) -> Self:
        """Returns the authority of this certificate and key, which signs into another folder."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = serialization.load_pem_private_key(pair.key.read_bytes(), password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        loaded = cls.__new__(cls)
        loaded._use(folder, now, key)
        loaded.certificate, loaded.key = pair.certificate, pair.key
        return loaded

    def _use(self, folder: Path, now: datetime.datetime, key: ec.EllipticCurvePrivateKey) -> None:
        self._folder = folder
        self._now = now
        self._key = key
        self._subject = _name("localcluster")

    def serving(
        self, name: str, hosts: Sequence[str], *, with_client: bool = False
    ) -> KeyPairFiles:
        """Issues a certificate for a server at `hosts`, DNS names or IP addresses, in files
        `name`.*.

        With `with_client` the server can also connect to peers with it (etcd).
        """
        usages = [ExtendedKeyUsageOID.SERVER_AUTH]
        if with_client:
            usages.append(ExtendedKeyUsageOID.CLIENT_AUTH)
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._issue(name, _name(hosts[0]), usages, names)

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> KeyPairFiles:
        """Issues a certificate for a client, `user` in `groups`, in files `name`.*."""
        return self._issue(name, _name(user, groups), [ExtendedKeyUsageOID.CLIENT_AUTH], None)

    def service_account_keys(self) -> KeyPairFiles:
        """Makes the key pair that signs and checks tokens. `certificate` is the bare public key."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pair = KeyPairFiles(
            self._folder / "service-accounts.pub", self._folder / "service-accounts.key"
        )
        pair.certificate.write_bytes(
            key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        _write_key(pair.key, key)
        return pair

    def _issue(
        self,
        name: str,
        subject: x509.Name,
        usages: Sequence[x509.ObjectIdentifier],
        alternatives: x509.SubjectAlternativeName | None,
    ) -> KeyPairFiles:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        pair = KeyPairFiles(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(pair.key, key)
        return pair

    def _builder(
        self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        # Strict verifiers (Python 3.13's default context) require both key identifiers.
        own = x509.SubjectKeyIdentifier.from_public_key(public_key)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - _BACKDATED)
            .not_valid_after(self._now + _LIFE)
            .add_extension(own, critical=False)
            .add_extension(issuer, critical=False)
        )


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


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    # An X.509 common name holds 64 characters; clients check the alternative names anyway.
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
