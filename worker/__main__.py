"""`python -m worker [OPTIONS] -- COMMAND…`, or the same with this folder's path: the recorder."""

from __future__ import annotations

import os
import sys

if not __package__:
    # Started by the folder's path: our modules are found through its parent.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    import worker  # noqa: F401

    del sys.path[0]
elif not getattr(sys.flags, "safe_path", sys.flags.isolated):
    # The working directory: a user's `random.py` there must not replace the standard library's.
    del sys.path[0]

from worker import signals

_BAD_USAGE = 2


def main(arguments: list[str], mask: set[int]) -> int:
    """Run the command line, with the signals that `mask` lacks held; return the exit code."""
    # Imported after the signals are held: they take most of the time until the command starts.
    from worker import options, recorder, stderr

    if arguments in (["-h"], ["--help"]):
        stderr.write(options.USAGE)
        return 0
    try:
        chosen, command = options.split(arguments)
    except options.BadOption as error:
        stderr.write(f"error: {error}\n\n{options.USAGE}")
        return _BAD_USAGE
    return recorder.run(command, dict(os.environ), mask, chosen)


if __name__ == "__main__":
    # At once: the thread of an upload that hangs must not hold up the end of the container.
    os._exit(main(sys.argv[1:], signals.hold()))
