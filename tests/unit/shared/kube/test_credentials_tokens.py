import asyncio
import threading
from pathlib import Path

import pytest

from shared.kube.client import CannotConnect
from shared.kube.credentials import (
    READ_SECONDS,
    FixedCredential,
    RenewedCredential,
    TokenFile,
)
from tests.support.fakes.fake_clock import FakeClock


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


def rotate(token: Path, text: str | None) -> None:
    """Replaces the file as the kubelet does; None takes it away."""
    if text is None:
        token.unlink()
    else:
        token.write_text(text)


async def test_a_rotated_token_file_is_read_again_after_ten_seconds(token: Path) -> None:
    clock = FakeClock()
    authorization = RenewedCredential(TokenFile(token), clock)
    assert await authorization.current() == "Bearer first"
    rotate(token, "second")
    clock.pass_by(9.9)
    assert await authorization.current() == "Bearer first"
    clock.pass_by(0.1)
    assert await authorization.current() == "Bearer second"


async def test_after_a_rejection_it_is_read_at_once(token: Path) -> None:
    authorization = RenewedCredential(TokenFile(token), FakeClock())
    first = await authorization.current()
    rotate(token, "second")
    assert await authorization.after_rejection(first) == "Bearer second"
    assert await authorization.current() == "Bearer second"


async def test_a_rejected_token_that_did_not_change_stays() -> None:
    authorization = RenewedCredential(FixedCredential("Basic x"), FakeClock())
    assert await authorization.after_rejection(await authorization.current()) == "Basic x"


async def test_one_reading_serves_all_that_were_rejected() -> None:
    reads = []

    class Counting:
        def read(self, *, rejected: bool) -> str | None:
            reads.append(rejected)
            return f"Bearer {len(reads)}"

    authorization = RenewedCredential(Counting(), FakeClock())
    first = await authorization.current()
    renewed = await asyncio.gather(*[authorization.after_rejection(first) for _ in range(5)])
    assert renewed == ["Bearer 2"] * 5
    assert reads == [False, True]


async def test_a_file_that_vanishes_leaves_the_last_token_in_use(token: Path) -> None:
    clock = FakeClock()
    authorization = RenewedCredential(TokenFile(token), clock)
    await authorization.current()
    rotate(token, None)
    clock.pass_by(10)
    assert await authorization.current() == "Bearer first"
    rotate(token, "second")
    clock.pass_by(10)
    assert await authorization.current() == "Bearer second"


async def test_a_file_that_was_never_there_cannot_connect(tmp_path: Path) -> None:
    authorization = RenewedCredential(TokenFile(tmp_path / "token"), FakeClock())
    with pytest.raises(CannotConnect, match=r"the token file .*/token cannot be read: "):
        await authorization.current()


def test_an_empty_file_is_no_token(token: Path) -> None:
    token.write_text("\n")
    with pytest.raises(CannotConnect) as raised:
        TokenFile(token).read(rejected=False)
    assert str(raised.value) == f"the token file {token} is empty"


async def test_a_source_that_hangs_is_not_waited_for_and_not_begun_again() -> None:
    goes_on = threading.Event()
    begun = []

    class Hanging:
        def read(self, *, rejected: bool) -> str | None:
            begun.append(rejected)
            goes_on.wait()
            return "Bearer late"

    clock = FakeClock()
    authorization = RenewedCredential(Hanging(), clock)
    try:
        for _ in range(2):
            waiting = asyncio.create_task(authorization.current())
            await clock.advance(READ_SECONDS - 0.1)
            assert not waiting.done()
            await clock.advance(0.1)
            with pytest.raises(CannotConnect) as raised:
                await waiting
            assert str(raised.value) == "the credentials could not be read within 30 s"
    finally:
        goes_on.set()
    assert await authorization.current() == "Bearer late"
    assert begun == [False]
