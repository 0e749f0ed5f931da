"""What somebody else wrote into the Secret or a caBundle, or a bug, ends no replica."""

import base64
import logging
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from shared.kube.resource import SECRETS
from tests.builders.fake_clock import settle
from tests.builders.tls import NAMES, PLAN, START, authority
from tests.builders.tls_cluster import (
    BOTH,
    ROUNDS,
    VALIDATING,
    Cluster,
    empty_secret,
    entry,
    is_served,
)
from webhook.tls.authority import issue_leaf
from webhook.tls.contents import Contents
from webhook.tls.key_pair import PrivateKey, certificates_in, pem
from webhook.tls.secret_data import encode

CA = authority()
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC_KEY = ec.generate_private_key(ec.SECP192R1())


def with_a_doubled_extension() -> x509.Certificate:
    constraints = x509.Extension(
        x509.BasicConstraints.oid, True, x509.BasicConstraints(ca=True, path_length=0)
    )
    name = CA.certificate.subject
    builder = x509.CertificateBuilder(name, name, extensions=[constraints, constraints])
    return (
        builder.public_key(CA.key.public_key())
        .serial_number(1)
        .not_valid_before(START)
        .not_valid_after(START + timedelta(days=1))
        .sign(CA.key, hashes.SHA256())
    )


@pytest.mark.parametrize("key", [RSA_KEY, EC_KEY], ids=["short", "of an old curve"])
async def test_a_leaf_whose_key_nobody_accepts_is_replaced(key: PrivateKey) -> None:
    cluster = Cluster()
    weak = issue_leaf(CA, NAMES, PLAN.leaf_life, START, key)  # type: ignore[arg-type]
    cluster.put(SECRETS, empty_secret() | {"data": encode(Contents(CA, weak))})
    async with cluster.replica() as source:
        assert is_served(source, cluster)
        assert cluster.contents.authority == CA
        assert (source.problem(), source.warning()) == (None, None)


async def test_a_bundle_with_a_certificate_that_no_client_can_read_is_put_right() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        changed = entry()
        unreadable = base64.b64encode(pem([with_a_doubled_extension()])).decode()
        changed["clientConfig"]["caBundle"] = unreadable
        cluster.put(VALIDATING, {"metadata": {"name": BOTH[VALIDATING]}, "webhooks": [changed]})
        await settle(ROUNDS)
        assert is_served(source, cluster)


def test_what_has_an_extension_twice_is_left_out_of_a_bundle() -> None:
    bundle = pem([with_a_doubled_extension(), CA.certificate])
    assert certificates_in(bundle) == [CA.certificate]


async def test_a_bug_in_a_pass_is_logged_without_contents_and_tried_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ending the process would take away a certificate that is good for another month."""
    cluster = Cluster()
    async with cluster.replica() as source:

        def fails(*_: object) -> None:
            raise RuntimeError(CA.key_pem.decode())

        with monkeypatch.context() as patched:
            patched.setattr("webhook.tls.managed_source.decide", fails)
            cluster.annotate("leaf")
            await settle(ROUNDS)
            assert (source.problem(), source.warning()) == (
                None,
                "the certificates cannot be looked after: RuntimeError; the log says where",
            )
        (logged,) = (each for each in caplog.records if each.levelno == logging.ERROR)
        assert "PRIVATE" not in str(logged.__dict__)
        assert "managed_source.py" in logged.exception
        await cluster.passes(1)
        assert is_served(source, cluster)
        assert source.warning() is None
