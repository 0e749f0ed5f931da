"""`python -m worker [OPTIONS] -- COMMAND…`, or the same with this folder's path: the recorder."""

from __future__ import annotations

import os
import sys

if not __package__:
    # Started by the folder's path; `COPY worker /opt/recorder` gives the folder another name.
    del sys.path[0]
    package = type(sys)("worker")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["worker"] = package
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


def be_alone() -> None:
    """Start again without the image's packages if they have started threads in this process.

    OpenTelemetry and Datadog do so in a `sitecustomize`. Such a thread receives the signals that
    the recorder waits for: it would miss the end of the command, or die of a SIGTERM.
    """
    try:
        if len(os.listdir("/proc/self/task")) > 1 and not sys.flags.no_site:
            folder = os.path.dirname(os.path.abspath(__file__))
            os.execv(sys.executable, [sys.executable, "-S", folder, *sys.argv[1:]])
    except OSError:
        return  # no Linux, or no such interpreter: the command must run


if __name__ == "__main__":
    be_alone()
    # At once: the thread of an upload that hangs must not hold up the end of the container.
    os._exit(main(sys.argv[1:], signals.hold()))
