"""What can go wrong with a benchmark, as sentences for the person at the keyboard."""


class BenchError(Exception):
    """The benchmark cannot be run or go on."""
