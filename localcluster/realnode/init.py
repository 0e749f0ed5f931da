"""Process 1 of the node's namespaces: reaps what nobody else waits for. When it ends, all end.

`unshare --kill-child` starts it and takes it along. The first line of its output is its process id
as the host counts; everything after that is lost.
"""

import contextlib
import os
import signal
import socket
import sys
from pathlib import Path

from localcluster.realnode.syscalls import mount

NODE_NAME = "real-node"


def main() -> None:
    """Never returns."""
    # This is still the host's /proc: it knows who we are there, and whether our parent is.
    own = Path("/proc/self").readlink().name
    parent = _parent_of(own)
    if Path(f"/proc/{parent}/comm").read_text().strip() != "unshare":
        sys.exit("the parent has ended")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # meant for the cluster, which ends us in order
    mount("proc", "/proc", "proc")
    socket.sethostname(NODE_NAME)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    print(own, flush=True)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.chdir("/")
    while True:
        signal.sigwait({signal.SIGCHLD})
        _reap()


def _parent_of(pid: str) -> str:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("PPid:"):
            return line.split()[1]
    raise LookupError(f"/proc/{pid}/status has no PPid")


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
