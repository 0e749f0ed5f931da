"""Creates a cluster's certificate authority and its certificates, as PEM files in one folder.

They last ten years, so that no component renews its own certificate while a test runs.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from localcluster.machine.files import replace_private

_LIFE = datetime.timedelta(days=3650)
_BACKDATED = datetime.timedelta(minutes=5)

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class KeyPairFiles:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates into one folder. `now` is when they begin to be valid.

    `pair` is an authority that exists; without it a new one is made, in the folder.
    """

    def __init__(
        self, folder: Path, now: datetime.datetime, pair: KeyPairFiles | None = None
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._now = now
        if pair is not None:
            self.certificate, self.key = pair.certificate, pair.key
            key = serialization.load_pem_private_key(self.key.read_bytes(), password=None)
            assert isinstance(key, ec.EllipticCurvePrivateKey)
            self._key = key
            return
        self.certificate, self.key = folder / "ca.crt", folder / "ca.key"
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._key.public_key()
        self.certificate.write_bytes(signed(_OURS, own, _OURS, self._key, now, is_authority=True))
        replace_private(self.key, key_pem(self._key))

    def serving(
        self, name: str, hosts: Sequence[str], *, with_client: bool = False
    ) -> KeyPairFiles:
        """Issues a server's certificate for `hosts`, names or IP addresses, in files `name`.*.

        With `with_client` the server can also connect to peers with it (etcd).
        """
        usages = [ExtendedKeyUsageOID.SERVER_AUTH]
        if with_client:
            usages.append(ExtendedKeyUsageOID.CLIENT_AUTH)
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._issue(name, name_of(hosts[0]), x509.ExtendedKeyUsage(usages), names)

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> KeyPairFiles:
        """Issues a certificate for a client, `user` in `groups`, in files `name`.*."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._issue(name, name_of(user, groups), usage)

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
        replace_private(pair.key, key_pem(key))
        return pair

    def _issue(
        self, name: str, subject: x509.Name, *extensions: x509.ExtensionType
    ) -> KeyPairFiles:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = signed(
            subject, key.public_key(), _OURS, self._key, self._now, extensions=extensions
        )
        pair = KeyPairFiles(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        pair.certificate.write_bytes(certificate)
        replace_private(pair.key, key_pem(key))
        return pair


def signed(
    subject: x509.Name,
    public_key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    issuer: x509.Name,
    key: PrivateKey,
    now: datetime.datetime,
    *,
    is_authority: bool = False,
    extensions: Sequence[x509.ExtensionType] = (),
) -> bytes:
    """Returns a certificate as PEM, signed with the issuer's `key`."""
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(usage, critical=True)
    )
    # Strict verifiers (Python 3.13's default context) require both key identifiers.
    own = x509.SubjectKeyIdentifier.from_public_key(public_key)
    issuers = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    for each in (own, issuers, *extensions):
        builder = builder.add_extension(each, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def key_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def name_of(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    # An X.509 common name holds 64 characters; clients check the alternative names anyway.
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


_OURS = name_of("localcluster")
