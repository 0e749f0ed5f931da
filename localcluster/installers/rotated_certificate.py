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
from cryptography.hazmat.primitives.asymmetric import rsa

from localcluster.access.certificates import key_pem, name_of, signed
from localcluster.machine.files import replace_private
from shared.api.objects import JsonObject


@dataclass(frozen=True, slots=True)
class RotatedCertificate:
    """The four files by name, PEM."""

    files: dict[str, bytes]

    @classmethod
    def make(cls, authority_name: str, host: str, now: datetime.datetime) -> "RotatedCertificate":
        """Makes a certificate for `host`, from an authority with the expected name."""
        authority, authority_key = name_of(authority_name), _new_key()
        own = x509.SubjectAlternativeName([x509.DNSName(authority_name)])
        certificate = signed(
            authority,
            authority_key.public_key(),
            authority,
            authority_key,
            now,
            is_authority=True,
            extensions=[own],
        )
        key = _new_key()
        hosts = x509.SubjectAlternativeName([x509.DNSName(host)])
        serving = signed(
            name_of(host), key.public_key(), authority, authority_key, now, extensions=[hosts]
        )
        return cls(
            {
                "ca.crt": certificate,
                "ca.key": key_pem(authority_key),
                "tls.crt": serving,
                "tls.key": key_pem(key),
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
