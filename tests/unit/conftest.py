"""What every unit test leaves as it found it."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Hypothesis limits each example to 200 ms, and how long it takes to make them: on a busy machine
# that fails tests in which nothing is wrong. And each run has the same examples: CI runs them once,
# and must find what a developer's run found. `make fuzz` tries others.
settings.register_profile(
    "untimed", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def signals_are_whose_they_were() -> Iterator[None]:
    """Whoever runs the tests wants to end them by Ctrl-C, also after one of a program's `main`.

    A loop that is closed keeps the handlers that were added to it: nothing would happen then.
    A shell ignores Ctrl-C for what it runs with `&`; a test that interrupts itself would hang.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
