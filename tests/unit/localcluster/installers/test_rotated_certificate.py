"""What is made for a component passes the checks by which it would decide to make its own."""

import base64
import datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from localcluster.installers.rotated_certificate import RotatedCertificate

NOW = datetime.datetime(2026, 11, 21, 10, 0, tzinfo=datetime.UTC)
HOST = "kueue-webhook-service.kueue-system.svc"


@pytest.fixture(scope="module")
def made() -> RotatedCertificate:
    return RotatedCertificate.make("kueue-ca", HOST, NOW)


def names(pem: bytes) -> list[str]:
    certificate = x509.load_pem_x509_certificate(pem)
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return extension.value.get_values_for_type(x509.DNSName)


def test_the_authority_and_the_server_carry_their_names(made: RotatedCertificate) -> None:
    assert names(made.files["ca.crt"]) == ["kueue-ca"]
    assert names(made.files["tls.crt"]) == [HOST]


@pytest.mark.parametrize("pair", ["ca", "tls"])
def test_keys_belong_to_their_certificates(made: RotatedCertificate, pair: str) -> None:
    key = load_pem_private_key(made.files[f"{pair}.key"], None)
    certificate = x509.load_pem_x509_certificate(made.files[f"{pair}.crt"])
    assert key.public_key() == certificate.public_key()
    assert made.files[f"{pair}.key"].startswith(b"-----BEGIN RSA PRIVATE KEY-----")


def test_the_server_is_signed_by_the_authority(made: RotatedCertificate) -> None:
    authority = x509.load_pem_x509_certificate(made.files["ca.crt"])
    server = x509.load_pem_x509_certificate(made.files["tls.crt"])
    server.verify_directly_issued_by(authority)


@pytest.mark.parametrize("name", ["ca.crt", "tls.crt"])
def test_it_is_valid_now_and_for_the_90_days_that_the_component_looks_ahead(
    made: RotatedCertificate, name: str
) -> None:
    certificate = x509.load_pem_x509_certificate(made.files[name])
    assert certificate.not_valid_before_utc < NOW
    assert certificate.not_valid_after_utc > NOW + datetime.timedelta(days=90)


def test_the_secret_and_the_folder_hold_the_same_files(
    made: RotatedCertificate, tmp_path: Path
) -> None:
    made.write_to(tmp_path / "certificates")
    secret = made.secret("kueue-system", "cert")

    assert secret["metadata"] == {"name": "cert", "namespace": "kueue-system"}
    decoded = {key: base64.b64decode(value) for key, value in secret["data"].items()}
    written = {each.name: each.read_bytes() for each in (tmp_path / "certificates").iterdir()}
    assert decoded == written == made.files
    assert {each.stat().st_mode & 0o777 for each in (tmp_path / "certificates").iterdir()} == {
        0o600
    }
