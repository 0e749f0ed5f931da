"""Sets signals as in a program that a person started."""

import signal


def hear_all_signals() -> None:
    """Restores the signals that `nohup` or a shell's `&` ignores: for a test's child before
    exec.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
