"""What every unit test leaves as it found it."""

import signal
from collections.abc import Iterator

import pytest

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def signals_are_whose_they_were() -> Iterator[None]:
    """Whoever runs the tests wants to end them by Ctrl-C, also after one of a program's `main`.

    A loop that is closed keeps the handlers that were added to it: nothing would happen then.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
