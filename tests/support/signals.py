"""Signals as a program that a person started has them."""

import signal


def hear_all_signals() -> None:
    """For a test's child, between fork and exec: what `nohup` or a shell's `&` ignores counts."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
