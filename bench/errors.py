"""What can go wrong with a benchmark, as sentences for the person at the keyboard."""


class BenchError(Exception):
    """The benchmark cannot be run or go on."""


class PortTaken(BenchError):
    """The one port that the Go operator's webhook can listen on is in use, perhaps by another run."""
