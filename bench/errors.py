"""Errors of a benchmark, as sentences for the person at the keyboard."""


class BenchError(Exception):
    """The benchmark cannot start or cannot continue."""


class PortTaken(BenchError):
    """Another process, perhaps another run, uses the only port that the Go operator can use."""
