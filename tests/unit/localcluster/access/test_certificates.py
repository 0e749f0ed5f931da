import datetime
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from cryptography.x509 import DNSName
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from localcluster.access.certificates import Authority, KeyPairFiles
from tests.support.moments import NOW


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates", NOW)


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_serving_certificate_is_trusted_for_its_names_for_ten_years(authority: Authority) -> None:
    pair = authority.serving("webhook/tls", ("svc.ns.svc", "127.0.0.1"))
    store = Store([certificate(authority.certificate)])
    in_nine_years = NOW + datetime.timedelta(days=9 * 365)
    for time in (NOW, in_nine_years):
        verifier = (
            PolicyBuilder().store(store).time(time).build_server_verifier(DNSName("svc.ns.svc"))
        )
        verifier.verify(certificate(pair.certificate), [])
    names = certificate(pair.certificate).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert [str(address) for address in names.value.get_values_for_type(x509.IPAddress)] == [
        "127.0.0.1"
    ]
    assert pair == KeyPairFiles(pair.key.parent / "tls.crt", pair.key.parent / "tls.key")


def test_client_certificate_contains_user_and_groups(authority: Authority) -> None:
    pair = authority.client("admin", "somebody", ("one", "two"))
    subject = certificate(pair.certificate).subject
    organizations = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    (user,) = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert user.value == "somebody"
    assert [each.value for each in organizations] == ["one", "two"]
    # The key fits the certificate, or this raises.
    ssl.create_default_context().load_cert_chain(pair.certificate, pair.key)


def test_keys_are_this_users_alone(authority: Authority) -> None:
    pairs = (
        authority.serving("a", ("a",)),
        authority.client("b", "b"),
        authority.service_account_keys(),
    )
    assert [stat.S_IMODE(pair.key.stat().st_mode) for pair in pairs] == [0o600] * 3
    assert stat.S_IMODE(pairs[0].key.parent.stat().st_mode) == 0o700


def test_service_account_pair_is_a_private_and_a_public_key(authority: Authority) -> None:
    pair = authority.service_account_keys()
    load_pem_public_key(pair.certificate.read_bytes())
