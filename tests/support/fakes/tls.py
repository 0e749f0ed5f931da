"""Validates certificates like a client of the webhook, at any time, and has a plan to make them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography.x509 import Certificate, DNSName
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from shared.config.configuration import CertManagement
from webhook.tls.certificate_secret import Contents
from webhook.tls.issue import issue_leaf, make_authority, new_key, serving_names
from webhook.tls.key_pair import KeyPair
from webhook.tls.rotate import SecretChange, Write

START = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "appwrapper-webhook-service.appwrapper-system.svc"
NAMES = serving_names("appwrapper-system", "appwrapper-webhook-service")
PLAN = CertManagement()


def authority(now: datetime = START, life: timedelta = PLAN.ca_lifetime) -> KeyPair:
    return make_authority(PLAN.certificate_name, PLAN.certificate_org, life, now, new_key())


def leaf(
    issuer: KeyPair,
    now: datetime = START,
    life: timedelta = PLAN.leaf_lifetime,
    names: tuple[str, ...] = NAMES,
) -> KeyPair:
    return issue_leaf(issuer, names, life, now, new_key())


def contents(now: datetime = START) -> Contents:
    """Returns a CA and its leaf, as after a first start."""
    issuer = authority(now)
    return Contents(issuer, leaf(issuer, now))


def write(change: SecretChange, why: str) -> Write:
    """Returns a step to compare with; its contents do not count."""
    return Write(change, why, Contents())


def accepted(
    certificate: Certificate, trusted: Iterable[Certificate], now: datetime, host: str = HOST
) -> bool:
    """True if a client that trusts these and calls `host` continues the handshake."""
    authorities = list(trusted)
    if not authorities:
        return False
    builder = PolicyBuilder().store(Store(authorities)).time(now)
    try:
        builder.build_server_verifier(DNSName(host)).verify(certificate, [])
    except VerificationError:
        return False
    return True
