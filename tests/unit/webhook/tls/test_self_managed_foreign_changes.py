"""What somebody else wrote into the Secret or a caBundle, or a bug, ends no replica."""

import base64
import logging
from collections.abc import Callable
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from shared.api.objects import SECRETS, Resource
from shared.kube.client import Forbidden
from tests.support.fakes.fake_clock import settle
from tests.support.fakes.handshakes import served_certificate
from tests.support.fakes.tls import NAMES, PLAN, START, authority, leaf
from tests.support.fakes.tls_cluster import (
    BOTH,
    MUTATING,
    ROUNDS,
    SECRET,
    VALIDATING,
    Cluster,
    empty_secret,
    entry,
    is_served,
)
from webhook.tls.certificate_secret import Contents, PreviousAuthority, encode
from webhook.tls.issue import issue_leaf
from webhook.tls.key_pair import PrivateKey, certificates_in, pem

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
async def test_a_leaf_with_an_unacceptable_key_is_replaced(key: PrivateKey) -> None:
    cluster = Cluster()
    weak = issue_leaf(CA, NAMES, PLAN.leaf_lifetime, START, key)  # type: ignore[arg-type]
    cluster.put(SECRETS, empty_secret() | {"data": encode(Contents(CA, weak))})
    async with cluster.replica() as source:
        assert is_served(source, cluster)
        assert cluster.contents.authority == CA
        assert (source.problem(), source.warning()) == (None, None)


async def test_a_bundle_with_a_certificate_that_no_client_can_read_is_put_right() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        publish(cluster, VALIDATING, pem([with_a_doubled_extension()]))
        await settle(ROUNDS)
        assert is_served(source, cluster)


def test_a_certificate_with_a_repeated_extension_is_omitted_from_a_bundle() -> None:
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
            patched.setattr("webhook.tls.self_managed.decide", fails)
            cluster.annotate("leaf")
            await settle(ROUNDS)
            assert (source.problem(), source.warning()) == (
                None,
                "the certificates cannot be managed: RuntimeError; the log shows where",
            )
        (logged,) = (each for each in caplog.records if each.levelno == logging.ERROR)
        assert "PRIVATE" not in str(logged.__dict__)
        assert "self_managed.py" in vars(logged)["exception"]
        await cluster.passes(1)
        assert is_served(source, cluster)
        assert source.warning() is None


def by_others(cluster: Cluster, found: Contents) -> None:
    """Another replica has made these contents the Secret's and the configurations'."""
    cluster.put(SECRETS, empty_secret() | {"data": encode(found)})
    for resource in BOTH:
        publish(cluster, resource, found.bundle)


def publish(cluster: Cluster, resource: Resource, bundle: bytes) -> None:
    made = entry()
    made["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
    cluster.put(resource, {"metadata": {"name": BOTH[resource]}, "webhooks": [made]})


async def test_the_late_write_of_a_frozen_replica_removes_no_ca_from_a_bundle() -> None:
    cluster = Cluster()
    new = authority()
    seen: list[bytes] = []
    async with cluster.replica() as source:

        def freeze_in_the_first(verb: str, _plural: str) -> None:
            if verb == "patch" and not seen:
                old = PreviousAuthority(cluster.contents.trusted[0], START + PLAN.leaf_lifetime)
                by_others(cluster, Contents(new, leaf(new), previous=(old,)))
            elif not seen:
                return
            seen.extend(cluster.bundle(resource) for resource in BOTH)

        cluster.configure(VALIDATING, BOTH[VALIDATING])
        cluster.fail = freeze_in_the_first
        await settle(ROUNDS)
        await cluster.passes(60)
        assert seen
        assert all(new.certificate in certificates_in(bundle) for bundle in seen)
        assert is_served(source, cluster)
        assert source.warning() is None


ONLY_IN_PART = "the certificates can be managed only in part: 403 Forbidden: you may not"


def forbidding(*plurals: str) -> Callable[[str, str], None]:
    """As without the role that grants these."""

    def fail(_verb: str, plural: str) -> None:
        if plural in plurals:
            raise Forbidden(403, "Forbidden", "you may not")

    return fail


async def test_without_rights_to_configurations_the_leaf_is_renewed_all_the_same() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        before = cluster.contents
        cluster.fail = forbidding(MUTATING.plural)
        cluster.clock.pass_by(timedelta(days=61).total_seconds())
        await cluster.passes(300)
        assert is_served(source, cluster)
        assert cluster.contents.leaf != before.leaf
        assert cluster.contents.trusted == before.trusted
        assert (source.problem(), source.warning()) == (None, ONLY_IN_PART)


async def test_without_rights_to_configurations_no_ca_is_made() -> None:
    """It could not tell which ones the API servers trust until now."""
    cluster = Cluster()
    cluster.fail = forbidding(VALIDATING.plural)
    async with cluster.replica() as source:
        await cluster.passes(60)
        assert cluster.contents == Contents()
        assert source.problem() == f"there is no certificate to serve yet: {ONLY_IN_PART}"


async def test_without_rights_to_the_secret_the_bundles_are_kept_all_the_same() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        good = cluster.bundle(VALIDATING)
        cluster.fail = forbidding(SECRETS.plural)
        cluster.configure(VALIDATING, BOTH[VALIDATING])
        await settle(ROUNDS)
        assert cluster.bundle(VALIDATING) == good
        assert (source.problem(), source.warning()) == (None, ONLY_IN_PART)
        cluster.fail = forbidding()
        await cluster.passes(10)
        assert source.warning() is None


async def test_without_a_secret_a_client_that_replaces_a_bundle_stops_no_replica() -> None:
    """cert-manager before 1.19 does so, while the last self-managed replicas still serve."""
    cluster = Cluster()
    theirs = authority().certificate
    async with cluster.replica() as source:
        shown, before = served_certificate(source.context), cluster.contents.trusted
        cluster.remove(SECRETS, SECRET)
        await settle(ROUNDS)
        for resource in BOTH:
            publish(cluster, resource, pem([theirs]))
        await settle(ROUNDS)
        for resource in BOTH:
            assert certificates_in(cluster.bundle(resource)) == [theirs, *before]
        assert served_certificate(source.context) == shown
        assert source.problem() is None


async def test_a_replica_that_cannot_read_the_secret_brings_no_revoked_ca_back() -> None:
    cluster = Cluster()
    new = authority()
    async with cluster.replica():
        cluster.fail = forbidding(SECRETS.plural)
        by_others(cluster, Contents(new, leaf(new)))
        await settle(ROUNDS)
        await cluster.passes(60)
        for resource in BOTH:
            assert certificates_in(cluster.bundle(resource)) == [new.certificate]


async def test_the_secret_is_read_after_the_configurations() -> None:
    """Else a look could pair an old Secret with a caBundle that is newer, and undo that."""
    cluster = Cluster()
    async with cluster.replica():
        cluster.calls.clear()
        cluster.annotate("leaf")
        await settle(ROUNDS)
        read = [plural for verb, plural in cluster.calls if verb == "get"]
        assert read[2::3] == ["secrets"] * (len(read) // 3)
