"""Process 1 of the node's namespaces: reaps orphans. When it ends, all end.

`unshare --kill-child` starts it and ends it. Its first line of output is its process id on the
host; all later output is lost.
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
    # This is still the host's /proc: it has our process id there, and our parent's.
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
