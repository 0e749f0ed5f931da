"""Makes certificates for components whose webhook uses open-policy-agent/cert-controller.

In a cluster such a component writes its certificate to a Secret. The kubelet copies it to the
component's folder, ten seconds later at best. Here both are filled before the start, so that
cert-controller has nothing to do. It checks the form (pkg/rotator): ca.crt, ca.key, tls.crt,
tls.key; the authority has its name as a DNS name; no certificate ends within 90 days.
"""

import base64
import datetime
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from localcluster.machine.files import replace_private
from shared.api.objects import JsonObject

_LIFE = datetime.timedelta(days=3650)
_BACKDATED = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class RotatedCertificate:
    """The four files by name, PEM."""

    files: dict[str, bytes]

    @classmethod
    def make(cls, authority_name: str, host: str, now: datetime.datetime) -> "RotatedCertificate":
        """Makes a certificate for `host`, from an authority with the name that the component
        expects.
        """
        authority_key = _new_key()
        authority = (
            _builder(authority_name, authority_name, authority_key.public_key(), now)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(authority_key, hashes.SHA256())
        )
        key = _new_key()
        certificate = (
            _builder(authority_name, host, key.public_key(), now)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .sign(authority_key, hashes.SHA256())
        )
        return cls(
            {
                "ca.crt": authority.public_bytes(serialization.Encoding.PEM),
                "ca.key": _pem(authority_key),
                "tls.crt": certificate.public_bytes(serialization.Encoding.PEM),
                "tls.key": _pem(key),
            }
        )

    @property
    def authority(self) -> bytes:
        """Returns the authority's certificate, PEM."""
        return self.files["ca.crt"]

    def secret(self, namespace: str, name: str) -> JsonObject:
        """Returns the Secret of the component's certificate."""
        data = {key: base64.b64encode(value).decode() for key, value in self.files.items()}
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}

    def write_to(self, folder: Path) -> None:
        """Writes the files as the kubelet would, readable by this user alone."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in self.files.items():
            replace_private(folder / name, content)


def _new_key() -> rsa.RSAPrivateKey:
    # RSA in PKCS #1: the component could parse it if it ever renewed the certificate.
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _builder(
    issuer: str, subject: str, public_key: rsa.RSAPublicKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .issuer_name(_name(issuer))
        .subject_name(_name(subject))
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    # A common name holds 64 characters; clients check the alternative name.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
