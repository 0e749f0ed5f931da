"""The certificate of a replica, against objects in memory and a clock that is moved by hand."""

import base64
import logging
from datetime import timedelta
from typing import Any

import pytest

from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import SECRETS
from shared.kube.client import Conflict, Forbidden, KubeError, Unreachable
from tests.support.fakes.fake_clock import fake_sources, settle
from tests.support.fakes.handshakes import served_certificate
from tests.support.fakes.tls import START
from tests.support.fakes.tls_cluster import (
    BOTH,
    MUTATING,
    NAMES,
    ROUNDS,
    SECRET,
    VALIDATING,
    Cluster,
    entry,
    is_served,
)
from webhook.tls.key_pair import certificates_in
from webhook.tls.self_managed import ManagedCertificateSource


async def test_a_first_start_makes_publishes_and_serves_at_once() -> None:
    cluster = Cluster()
    client: Any = cluster
    source = ManagedCertificateSource(client, NAMES, fake_sources(cluster.clock))
    secret = "Secret appwrapper-system/appwrapper-webhook-server-cert"
    assert source.problem() == (
        f"there is no certificate to serve yet: {secret} and the caBundles are being read"
    )
    assert source.not_after is None
    async with cluster.replica() as source:
        assert is_served(source, cluster)
        assert (source.problem(), source.warning()) == (None, None)
        assert source.not_after == START + timedelta(days=90)
    # Until the CA has settled, when it might have something to do, though not at a first start.
    assert set(cluster.clock.slept) == {30.0}
    assert sorted(cluster.writes()) == [
        ("patch", "mutatingwebhookconfigurations"),
        ("patch", "validatingwebhookconfigurations"),
        ("update", "secrets"),
    ]


async def test_a_restart_writes_nothing_and_serves_the_same() -> None:
    cluster = Cluster()
    async with cluster.replica():
        pass
    cluster.calls.clear()
    await cluster.passes(3600)
    async with cluster.replica() as source:
        assert is_served(source, cluster)
    assert cluster.writes() == []


async def test_one_of_two_replicas_creates_the_certificate_and_both_serve_it() -> None:
    cluster = Cluster()
    async with cluster.replica() as first, cluster.replica() as second:
        assert is_served(first, cluster)
        assert is_served(second, cluster)


async def test_who_loses_the_race_takes_what_the_winner_wrote() -> None:
    cluster = Cluster()
    lost: list[None] = []

    def lose_once(verb: str, plural: str) -> None:
        if (verb, plural, lost) == ("update", "secrets", []):
            lost.append(None)
            raise Conflict(409, "Conflict", "somebody was first")

    cluster.fail = lose_once
    async with cluster.replica() as source:
        assert is_served(source, cluster)
        assert source.warning() is None


async def test_a_request_is_done_and_taken_away() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        before = served_certificate(source.context)
        cluster.annotate("leaf")
        await settle(ROUNDS)
        assert is_served(source, cluster)
        assert served_certificate(source.context) != before
        assert cluster.one(SECRETS, SECRET)["metadata"]["annotations"] == {}


async def test_a_ca_is_replaced_in_order() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        before = served_certificate(source.context)
        cluster.annotate("ca")
        await settle(ROUNDS)
        assert len(certificates_in(cluster.bundle(MUTATING))) == 2
        await cluster.passes(29.9)
        assert served_certificate(source.context) == before
        await cluster.passes(0.2)
        assert is_served(source, cluster)
        assert served_certificate(source.context) != before
        assert len(certificates_in(cluster.bundle(VALIDATING))) == 2
        await cluster.passes(600)
        assert is_served(source, cluster)
        assert len(certificates_in(cluster.bundle(VALIDATING))) == 1


async def test_a_leaf_is_renewed_when_it_is_due_though_nothing_happens() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        before = served_certificate(source.context)
        cluster.clock.pass_by(60 * 24 * 3600)
        await cluster.passes(300)
        assert served_certificate(source.context) != before
        assert is_served(source, cluster)


async def test_a_wrong_bundle_is_replaced_at_once_and_nothing_else_changed() -> None:
    cluster = Cluster()
    async with cluster.replica():
        good = cluster.bundle(MUTATING)
        changed = cluster.one(MUTATING, BOTH[MUTATING])
        changed["webhooks"][0]["clientConfig"]["caBundle"] = ""
        changed["webhooks"][0]["failurePolicy"] = "Ignore"
        changed["webhooks"].insert(0, entry("theirs", "another-service"))
        cluster.put(MUTATING, changed)
        await settle(ROUNDS)
        theirs, ours = cluster.one(MUTATING, BOTH[MUTATING])["webhooks"]
        assert theirs == entry("theirs", "another-service")
        assert ours["failurePolicy"] == "Ignore"
        assert base64.b64decode(ours["clientConfig"]["caBundle"]) == good


async def test_a_deleted_configuration_is_reported_and_not_created_again() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        cluster.remove(MUTATING, BOTH[MUTATING])
        await settle(ROUNDS)
        assert (source.problem(), source.warning()) == (
            None,
            "MutatingWebhookConfiguration appwrapper-mutating-webhook-configuration does not "
            "exist: the API server does not call the webhook",
        )
        await cluster.passes(3600)
        assert (MUTATING.plural, BOTH[MUTATING]) not in cluster.objects
        cluster.configure(MUTATING, BOTH[MUTATING])
        await settle(ROUNDS)
        assert cluster.bundle(MUTATING) == cluster.contents.bundle
        assert source.warning() is None


async def test_a_deleted_secret_is_reported_and_serving_continues() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        before = served_certificate(source.context)
        cluster.remove(SECRETS, SECRET)
        await settle(ROUNDS)
        assert (source.problem(), source.warning()) == (
            None,
            "Secret appwrapper-system/appwrapper-webhook-server-cert does not exist: create it "
            "without data (kubectl apply -k); until then nothing is renewed",
        )
        assert served_certificate(source.context) == before
        cluster.empty()
        await settle(ROUNDS)
        assert source.warning() is None
        assert served_certificate(source.context) == before
        await cluster.passes(31)
        assert is_served(source, cluster)


async def test_without_a_secret_a_first_start_reports_the_next_step() -> None:
    cluster = Cluster()
    cluster.remove(SECRETS, SECRET)
    async with cluster.replica() as source:
        assert source.problem() == (
            "there is no certificate to serve yet: Secret "
            "appwrapper-system/appwrapper-webhook-server-cert does not exist: create it without "
            "data (kubectl apply -k); until then nothing is renewed"
        )


async def test_an_unknown_request_is_reported_and_kept() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        cluster.annotate("everything")
        await settle(ROUNDS)
        assert source.warning() == (
            "Secret appwrapper-system/appwrapper-webhook-server-cert: its annotation "
            "workload.codeflare.dev/rotate asks for 'everything'; it may ask for leaf or ca"
        )
        assert cluster.one(SECRETS, SECRET)["metadata"]["annotations"] == {
            ANNOTATION_ROTATE: "everything"
        }


FORBIDDEN = Forbidden(403, "Forbidden", "you may not")


def refusing(verb: str, plural: str, error: KubeError) -> Any:
    def fail(called: str, resource: str) -> None:
        if (called, resource) == (verb, plural):
            raise error

    return fail


async def test_a_secret_that_cannot_be_written_keeps_no_bundle_from_being_restored() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        good = cluster.bundle(VALIDATING)
        cluster.fail = refusing("update", "secrets", FORBIDDEN)
        cluster.annotate("leaf")
        await settle(ROUNDS)
        assert (source.problem(), source.warning()) == (
            None,
            "cannot issue a certificate (an admin asked for it): 403 Forbidden: you may not",
        )
        cluster.configure(VALIDATING, BOTH[VALIDATING])
        await settle(ROUNDS)
        assert cluster.bundle(VALIDATING) == good
        cluster.fail = lambda _verb, _plural: None
        await cluster.passes(10)
        assert is_served(source, cluster)
        assert source.warning() is None


async def test_one_configuration_that_cannot_be_written_keeps_the_other_from_nothing() -> None:
    cluster = Cluster()
    cluster.fail = refusing("patch", MUTATING.plural, FORBIDDEN)
    async with cluster.replica() as source:
        assert cluster.bundle(VALIDATING) == cluster.contents.bundle
        assert source.problem() == (
            "there is no certificate to serve yet: cannot write the caBundle: 403 Forbidden: "
            "you may not"
        )


@pytest.mark.parametrize("plural", ["secrets", MUTATING.plural])
async def test_an_api_server_that_is_away_ends_nothing(plural: str) -> None:
    cluster = Cluster()
    cluster.fail = refusing("get", plural, Unreachable("refused"))
    async with cluster.replica() as source:
        await cluster.passes(60)
        assert source.problem() == (
            "there is no certificate to serve yet: the certificates can be managed only in part: "
            "refused"
        )
        cluster.fail = lambda _verb, _plural: None
        await cluster.passes(10)
        assert is_served(source, cluster)
        assert source.problem() is None
    # Never hot: the delays grow, up to ten seconds.
    assert len(cluster.calls) < 100


async def test_an_expired_certificate_is_a_problem() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        cluster.fail = refusing("get", "secrets", Unreachable("refused"))
        await cluster.passes(300)
        cluster.clock.pass_by(90 * 24 * 3600)
        assert source.problem() == (
            f"the certificate expired at {START + timedelta(days=90)}: the certificates can be "
            "managed only in part: refused"
        )


async def test_two_who_undo_each_others_work_do_not_write_without_end() -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        cluster.calls.clear()
        for _ in range(100):
            cluster.configure(VALIDATING, BOTH[VALIDATING])
            await settle(ROUNDS)
        assert len(cluster.writes()) == 8  # ten, less two at the start
        assert source.warning() == (
            "cannot write the caBundle: another client keeps reverting it, so the next write is "
            "delayed"
        )
        await cluster.passes(20)
        assert is_served(source, cluster)


async def test_each_trouble_is_logged_once_and_no_key_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    cluster = Cluster()
    async with cluster.replica():
        cluster.remove(SECRETS, SECRET)
        await cluster.passes(3600)
        cluster.empty()
        await cluster.passes(60)
    texts = [record.getMessage() for record in caplog.records]
    assert len([text for text in texts if "does not exist" in text]) == 1
    assert (
        len([text for text in texts if text.endswith("make a CA and a certificate (it is empty)")])
        == 2
    )
    assert "PRIVATE" not in caplog.text
