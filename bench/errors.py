"""What can go wrong with a benchmark, as sentences for the person at the keyboard."""


class BenchError(Exception):
    """The benchmark cannot be run or go on."""


class PortTaken(BenchError):
    """The one port that the Go operator can use is taken, perhaps by another run."""
