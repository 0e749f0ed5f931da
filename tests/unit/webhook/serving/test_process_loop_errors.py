"""What the event loop reports that nobody awaited."""

import asyncio
import logging

import pytest

from webhook.serving.process import report_loop_errors

ENDED = (
    "unable to perform operation on <TCPTransport closed=True reading=False 0x7f>; "
    "the handler is closed"
)


def reported(error: Exception) -> None:
    loop = asyncio.new_event_loop()
    try:
        report_loop_errors(loop)
        loop.call_exception_handler({"message": "in a callback", "exception": error})
    finally:
        loop.close()


def test_a_connection_that_its_client_ended_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    reported(RuntimeError(ENDED))
    (line,) = (each for each in caplog.records if each.name == "webhook.serving.process")
    assert (line.levelno, line.exc_info) == (logging.DEBUG, None)
    assert line.getMessage() == "a client closed its connection while it was being read"
    assert not [each for each in caplog.records if each.levelno > logging.DEBUG]


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("a bug"),
        RuntimeError(ENDED.replace("closed=True", "closed=False")),
        ValueError(ENDED),
    ],
)
def test_whatever_else_is(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    reported(error)
    (line,) = (each for each in caplog.records if each.levelno == logging.ERROR)
    assert (line.name, line.getMessage()) == ("asyncio", "in a callback")
    assert line.exc_info is not None
    assert line.exc_info[1] is error
