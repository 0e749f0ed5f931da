"""Certificates in real files, handshakes in memory."""

import asyncio
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.builders.certificates import self_signed
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.handshakes import served_certificate
from webhook.tls.mounted_files import CertificateError, FileCertificateSource

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTLE = 30.0


def pair(serial: int, age: float = SETTLE) -> tuple[bytes, bytes]:
    """A pair that was issued `age` seconds before START. It expires a day after START."""
    return self_signed(serial, START - timedelta(seconds=age), START + timedelta(days=1))


def write(folder: Path, certificate: bytes | None, key: bytes | None) -> None:
    for name, content in {"tls.crt": certificate, "tls.key": key}.items():
        if content is None:
            (folder / name).unlink(missing_ok=True)
            continue
        # As a mounted Secret changes: a new file in the old one's place.
        (folder / "new").write_bytes(content)
        os.replace(folder / "new", folder / name)


def source(folder: Path) -> tuple[FileCertificateSource, FakeClock]:
    clock = FakeClock(START)
    return FileCertificateSource(folder, timedelta(seconds=SETTLE), clock), clock


def served_serial(context: ssl.SSLContext, name: str | None) -> int:
    return served_certificate(context, name).serial_number


@pytest.mark.parametrize("name", ["webhook", None])
def test_the_pair_is_served_with_and_without_sni(tmp_path: Path, name: str | None) -> None:
    write(tmp_path, *pair(1))
    assert served_serial(source(tmp_path)[0].context, name) == 1


@pytest.mark.parametrize("name", ["webhook", None])
def test_a_half_written_pair_is_ignored_and_the_complete_one_loaded(
    tmp_path: Path, name: str | None
) -> None:
    first, second = pair(1), pair(2)
    write(tmp_path, *first)
    files, clock = source(tmp_path)
    assert files.reload() is False

    for half in ((second[0], first[1]), (second[0], None)):
        write(tmp_path, *half)
        for _ in range(2):
            assert files.reload() is False
            clock.pass_by(SETTLE)
        assert served_serial(files.context, name) == 1

    write(tmp_path, *second)
    assert files.reload() is False
    clock.pass_by(SETTLE)
    assert files.reload() is True
    assert served_serial(files.context, name) == 2
    assert files.reload() is False


async def test_a_changed_pair_is_noticed_within_ten_seconds_and_served_when_it_has_settled(
    tmp_path: Path,
) -> None:
    write(tmp_path, *pair(1))
    files, clock = source(tmp_path)
    watching = asyncio.create_task(files.run())
    await clock.advance(1)
    write(tmp_path, *pair(2))
    await clock.advance(9 + SETTLE - 1)
    assert served_serial(files.context, None) == 1
    await clock.advance(1)
    assert served_serial(files.context, None) == 2
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching


def test_a_pair_that_changes_again_settles_again(tmp_path: Path) -> None:
    write(tmp_path, *pair(1))
    files, clock = source(tmp_path)
    for content in (pair(2), pair(1), pair(3), pair(4)):
        write(tmp_path, *content)
        assert files.reload() is False
        clock.pass_by(SETTLE - 1)
    assert files.reload() is False
    assert served_serial(files.context, None) == 1
    clock.pass_by(1)
    assert files.reload() is True
    assert served_serial(files.context, None) == 4


def test_an_expired_pair_is_replaced_at_once(tmp_path: Path) -> None:
    write(tmp_path, *pair(1))
    files, clock = source(tmp_path)
    write(tmp_path, *self_signed(2, START, START + timedelta(days=9)))
    clock.pass_by(24 * 3600 - 1)
    assert files.reload() is False
    clock.pass_by(1)
    assert files.reload() is True
    assert served_serial(files.context, None) == 2


def test_a_replica_that_starts_with_a_new_certificate_is_not_ready_until_it_has_settled(
    tmp_path: Path,
) -> None:
    write(tmp_path, *pair(1, age=10))
    files, clock = source(tmp_path)
    clock.pass_by(SETTLE - 11)
    assert files.problem() == (
        f"{tmp_path}/tls.crt: the certificate is new; API servers may not trust its CA before "
        "2026-01-01 00:00:20+00:00"
    )
    assert served_serial(files.context, None) == 1
    clock.pass_by(1)
    assert files.problem() is None


def test_a_changed_pair_that_is_served_at_once_leaves_the_replica_ready(tmp_path: Path) -> None:
    write(tmp_path, *self_signed(1, START - timedelta(days=1), START))
    files, _ = source(tmp_path)
    write(tmp_path, *pair(2, age=0))
    assert files.reload() is True
    assert files.problem() is None


def test_a_certificate_is_a_problem_once_it_has_expired(tmp_path: Path) -> None:
    write(tmp_path, *pair(1))
    files, clock = source(tmp_path)
    clock.pass_by(24 * 3600 - 1)
    assert files.problem() is None
    clock.pass_by(1)
    assert files.problem() == (
        f"{tmp_path}/tls.crt: the certificate expired at 2026-01-02 00:00:00+00:00"
    )


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    write(tmp_path, *pair(1))
    (tmp_path / missing).unlink()
    with pytest.raises(CertificateError) as error:
        source(tmp_path)
    assert str(error.value) == (
        f"{tmp_path / missing} cannot be read: No such file or directory; --cert-dir (or "
        "certManagement.certificateDir) names the folder with tls.crt and tls.key"
    )


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    write(tmp_path, b"nothing", pair(1)[1])
    with pytest.raises(CertificateError) as error:
        source(tmp_path)
    assert str(error.value) == f"{tmp_path}/tls.crt holds no PEM certificate"


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    write(tmp_path, pair(1)[0], pair(2)[1])
    with pytest.raises(CertificateError) as error:
        source(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}/tls.crt and {tmp_path}/tls.key are no usable pair of certificate and key: "
        "KEY_VALUES_MISMATCH"
    )


def test_an_encrypted_key_is_refused_without_asking_for_a_password(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    write(tmp_path, pair(1)[0], encrypted)
    with pytest.raises(CertificateError) as error:
        source(tmp_path)
    assert str(error.value) == f"{tmp_path}/tls.key is encrypted; the webhook needs it in the clear"
