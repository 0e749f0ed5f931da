import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.support.fakes.tls import START, authority, leaf
from webhook.tls.key_pair import KeyPair, UnusablePem, certificates_in, pem

CA = authority()
LEAF = leaf(CA, START)
PLAIN = serialization.NoEncryption()
FORMAT = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)


def test_encoded_data_is_decoded_to_the_same() -> None:
    read = KeyPair.from_pem(LEAF.certificate_pem, LEAF.key_pem)
    assert read == LEAF
    assert read.key.private_numbers() == LEAF.key.private_numbers()


ENCRYPTED = LEAF.key.private_bytes(*FORMAT, serialization.BestAvailableEncryption(b"secret"))
ED25519 = ed25519.Ed25519PrivateKey.generate().private_bytes(*FORMAT, PLAIN)
SHORT = rsa.generate_private_key(65537, 1024).private_bytes(*FORMAT, PLAIN)
UNKNOWN = ec.generate_private_key(ec.SECP256K1()).private_bytes(*FORMAT, PLAIN)
DAMAGED = LEAF.certificate_pem.replace(b"-----\nMII", b"-----\nAAA", 1)


@pytest.mark.parametrize(
    ("certificate", "key", "problem"),
    [
        (b"", LEAF.key_pem, "it holds 0 PEM certificates instead of one"),
        (pem([LEAF.certificate, CA.certificate]), LEAF.key_pem,
         "it holds 2 PEM certificates instead of one"),
        (DAMAGED, LEAF.key_pem, "its certificate is damaged"),
        (LEAF.certificate_pem, CA.key_pem, "the key belongs to another certificate"),
        (LEAF.certificate_pem, b"nothing", "the key is no PEM private key"),
        (LEAF.certificate_pem, LEAF.certificate_pem, "the key is no PEM private key"),
        (LEAF.certificate_pem, ENCRYPTED, "the key is encrypted"),
        (LEAF.certificate_pem, ED25519, "the key is neither an elliptic nor an RSA key"),
        (LEAF.certificate_pem, SHORT, "the RSA key has 1024 bits, fewer than 2048"),
        (LEAF.certificate_pem, UNKNOWN,
         "the key is on a curve that clients do not know, secp256k1"),
    ],
)  # fmt: skip
def test_a_key_without_its_certificate_is_reported(
    certificate: bytes, key: bytes, problem: str
) -> None:
    with pytest.raises(UnusablePem) as error:
        KeyPair.from_pem(certificate, key)
    assert str(error.value) == problem


def test_unreadable_parts_of_a_bundle_are_skipped() -> None:
    bundle = b"comment\n" + CA.certificate_pem + DAMAGED + b"\xff" + LEAF.certificate_pem
    assert certificates_in(bundle) == [CA.certificate, LEAF.certificate]


def test_a_key_is_never_shown() -> None:
    assert "key" not in repr(LEAF)
