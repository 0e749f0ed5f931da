"""Runs a program inside the node's namespaces like a child: `enter PID COMMAND…`.

It forwards SIGTERM to the program, exits with its exit code, and the program dies with it. PID is
that of the namespaces' process 1.
"""

import os
import select
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from localcluster.machine.parent import signal_at_parents_end
from localcluster.realnode import syscalls

_KINDS = (
    syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
)


def main(arguments: Sequence[str]) -> int:
    """Returns the program's exit code; 128 and the number of the signal that ended it."""
    process_1, *command = arguments
    # Ctrl-C reaches the terminal's whole group; the cluster's process decides what ends.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    syscalls.enter_namespaces(os.pidfd_open(int(process_1)), _KINDS)
    alive, held = os.pipe()
    program = os.fork()
    if program == 0:
        os.close(held)
        _become(command, alive)

    def forward(number: int, _frame: FrameType | None) -> None:
        os.kill(program, number)

    signal.signal(signal.SIGTERM, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _, status = os.waitpid(program, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _become(command: list[str], alive: int) -> None:
    """Never returns. `alive` is a pipe; the parent holds its other end."""
    signal_at_parents_end(signal.SIGKILL)
    # The parent may have ended before the call above: then no signal would come.
    if select.select([alive], [], [], 0)[0]:
        os._exit(1)
    os.setsid()
    os.chdir("/")
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    try:
        os.execvp(command[0], command)
    except OSError as failure:
        print(f"{command[0]}: {failure.strerror}", file=sys.stderr, flush=True)
        os._exit(127)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
