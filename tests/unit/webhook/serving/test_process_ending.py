import asyncio
import os
import signal

import pytest

from tests.support.fakes.fake_clock import settle
from webhook.serving.process import Ending


def state(ending: Ending) -> tuple[bool, bool, bool]:
    return (ending.requested.is_set(), ending.skip_drain.is_set(), ending.given_up.is_set())


async def test_each_request_to_end_takes_the_next_step() -> None:
    ending = Ending()
    assert state(ending) == (False, False, False)
    ending.request()
    assert state(ending) == (True, False, False)
    ending.request()
    assert state(ending) == (True, True, False)
    ending.request()
    assert state(ending) == (True, True, True)
    ending.request()
    assert state(ending) == (True, True, True)


async def test_both_signals_request_the_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "webhook")
    ending = Ending()
    ending.listen_to_signals()
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        await settle()
        assert state(ending) == (True, False, False)
        os.kill(os.getpid(), signal.SIGINT)
        await settle()
        assert state(ending) == (True, True, False)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().remove_signal_handler(number)
    assert caplog.messages == ["SIGTERM: ending", "SIGINT: hurrying"]
