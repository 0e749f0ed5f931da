"""Calls that may hang: bounded, heard, and in nobody's way."""

import asyncio
import subprocess
import sys
from threading import Event

import pytest

from controller.gather.daemon_threads import DaemonThreads
from shared.process.sources import start_daemon_thread

_HANGS = """
import asyncio
from threading import Event
from controller.gather.daemon_threads import DaemonThreads
from shared.process.sources import start_daemon_thread

async def main():
    try:
        async with asyncio.timeout(0.01):
            await DaemonThreads(1, "hangs", start_daemon_thread).run(Event().wait)
    except TimeoutError:
        print("ended")

asyncio.run(main())
"""


def test_a_call_that_hangs_keeps_no_process_alive() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HANGS], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "ended\n"


async def test_results_and_errors_reach_the_caller() -> None:
    threads = DaemonThreads(1, "test", start_daemon_thread)
    assert await threads.run(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)
    assert await threads.run(lambda: 8) == 8


async def test_a_call_that_is_given_up_keeps_its_place_until_it_returns() -> None:
    threads, answers = DaemonThreads(1, "test", start_daemon_thread), Event()
    first = asyncio.create_task(threads.run(lambda: answers.wait(10)))
    await asyncio.sleep(0)
    second = asyncio.create_task(threads.run(lambda: "second"))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not second.done()
    answers.set()
    assert await second == "second"
