"""Runs commands one after the other, even after a failure.

Run as `python -m scripts.in_turn COMMAND -- COMMAND`. Exits with the worst of their codes. Ctrl-C
and SIGTERM end the running command, and no other begins.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from localcluster.machine.interrupts import end_with_parent
from scripts.parts import BETWEEN, INTERRUPTED, end_in_order, to_its_end


def commands(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield the commands between the separators."""
    for separates, words in groupby(arguments, BETWEEN.__eq__):
        if not separates:
            yield list(words)


def _begin(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, preexec_fn=end_with_parent)


def main(arguments: Sequence[str]) -> int:
    """Return the worst exit code, 0 if there was no command."""
    worst = 0
    for command in commands(arguments):
        code = to_its_end(partial(_begin, command))
        worst = max(worst, code)
        if code == INTERRUPTED:
            break
    return worst


if __name__ == "__main__":
    end_in_order()
    sys.exit(main(sys.argv[1:]))
