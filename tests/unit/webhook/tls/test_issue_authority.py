import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support.fakes.tls import HOST, NAMES, PLAN, START, accepted, authority, leaf
from webhook.tls.issue import is_authority, issue_leaf, leaf_problem, new_key
from webhook.tls.key_pair import KeyPair, pem
from webhook.tls.serving_context import context_of

CA = authority()
LEAF = leaf(CA)


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_trusts_the_ca_accepts_every_name(name: str) -> None:
    assert accepted(LEAF.certificate, [CA.certificate], START, name)


def test_the_names_are_those_by_which_a_service_is_called() -> None:
    assert NAMES == (
        "appwrapper-webhook-service.appwrapper-system.svc",
        "appwrapper-webhook-service.appwrapper-system.svc.cluster.local",
        "appwrapper-webhook-service.appwrapper-system",
        "appwrapper-webhook-service",
    )


def test_another_name_and_another_ca_are_refused() -> None:
    assert not accepted(LEAF.certificate, [CA.certificate], START, "kueue.kueue-system.svc")
    assert not accepted(LEAF.certificate, [authority().certificate], START)


@pytest.mark.parametrize(
    ("after", "valid"),
    [
        (timedelta(minutes=-5, seconds=-1), False),
        (timedelta(minutes=-5), True),
        (timedelta(days=90), True),
        (timedelta(days=90, seconds=1), False),
    ],
)
def test_it_is_valid_from_five_minutes_ago_to_the_end_of_its_life(
    after: timedelta, valid: bool
) -> None:
    assert accepted(LEAF.certificate, [CA.certificate], START + after) is valid


def test_each_leaf_matches_its_own_of_two_cas_of_one_name() -> None:
    other = authority()
    for certificate in (LEAF.certificate, leaf(other).certificate):
        assert accepted(certificate, [other.certificate, CA.certificate], START)


def test_a_leaf_never_outlives_its_ca() -> None:
    ca = authority(life=timedelta(hours=3))
    late = leaf(ca, START + timedelta(hours=2))
    assert late.certificate.not_valid_after_utc == START + timedelta(hours=3)


def test_keys_are_elliptic_and_serial_numbers_differ() -> None:
    assert isinstance(LEAF.key, ec.EllipticCurvePrivateKey)
    algorithm = CA.certificate.signature_hash_algorithm
    assert algorithm is not None
    assert (LEAF.key.curve.name, algorithm.name) == (
        "secp256r1",
        "sha256",
    )
    numbers = {one.certificate.serial_number for one in (CA, LEAF, leaf(CA), authority())}
    assert len(numbers) == 4


def test_names_are_the_configured_ones_and_a_long_service_name_fits() -> None:
    assert CA.certificate.subject.rfc4514_string() == "CN=appwrapper-ca,O=appwrapper"
    names = ("s" * 63 + "." + "n" * 63 + ".svc",)
    long = leaf(CA, names=names)
    (common,) = long.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert len(common.value) == 64
    assert accepted(long.certificate, [CA.certificate], START, names[0])


def test_openssl_accepts_it_by_its_strictest_rules() -> None:
    now = datetime.now(UTC)  # noqa: TID251  what a TLS client checks
    ca = authority(now)
    client_context = ssl.create_default_context(cadata=pem([ca.certificate]).decode())
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=HOST)
    server = context_of(leaf(ca, now)).wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert client.version() == "TLSv1.3"


def by_hand(issuer: KeyPair, *extensions: x509.ExtensionType) -> KeyPair:
    """A certificate with these extensions only."""
    key = new_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "by hand")]))
        .issuer_name(issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(START)
        .not_valid_after(START + timedelta(days=1))
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return KeyPair(builder.sign(issuer.key, hashes.SHA256()), key)


FOR_SERVERS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
FOR_CLIENTS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])


def for_names(*names: str) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([x509.DNSName(name) for name in names])


@pytest.mark.parametrize(
    ("certificate", "problem"),
    [
        (LEAF, None),
        (by_hand(CA, FOR_SERVERS, for_names("other", HOST)), None),
        (leaf(authority()), "tls.crt was not issued by ca.crt"),
        (by_hand(CA, for_names(HOST)), "tls.crt is not for servers"),
        (by_hand(CA, FOR_CLIENTS, for_names(HOST)), "tls.crt is not for servers"),
        (by_hand(CA, FOR_SERVERS), f"tls.crt is not for {HOST}"),
        (by_hand(CA, FOR_SERVERS, for_names(NAMES[3])), f"tls.crt is not for {HOST}"),
    ],
)
def test_why_clients_would_refuse_a_leaf(certificate: KeyPair, problem: str | None) -> None:
    assert leaf_problem(certificate, CA, NAMES) == problem


def test_a_leaf_is_no_ca() -> None:
    assert is_authority(CA.certificate)
    assert not is_authority(LEAF.certificate)
    assert not is_authority(by_hand(CA).certificate)


def test_a_ca_with_an_rsa_key_issues_too() -> None:
    """The Go operator's have one, and no key identifier."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "appwrapper-ca")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(START)
        .not_valid_after(START + PLAN.ca_lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    old = KeyPair(certificate, key)
    new = issue_leaf(old, NAMES, PLAN.leaf_lifetime, START, new_key())
    assert leaf_problem(new, old, NAMES) is None
