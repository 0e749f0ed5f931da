"""The node's own PID, mount, network, UTS and IPC namespaces, which end with this process."""

import os
import select
import sys
from pathlib import Path

from localcluster.machine.child import Child, captured
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.slowness import stretched
from localcluster.machine.tools import system_path

_ROOT = Path(__file__).resolve().parent.parent.parent
_UNSHARE = (
    "unshare",
    *("--pid", "--mount", "--net", "--uts", "--ipc"),
    *("--fork", "--kill-child", "--propagation", "private"),
)
_END_SECONDS = stretched(20.0)


class NodeNamespaces:
    """A running set of namespaces. `process_1` is the host's process id of their first process."""

    def __init__(self, holder: Child, process_1: int) -> None:
        self._holder = holder
        self.process_1 = process_1
        self._pidfd: int | None = os.pidfd_open(process_1)

    @classmethod
    def start(cls) -> "NodeNamespaces":
        """Creates namespaces with only process 1. Blocks for a moment. Raises LocalClusterError."""
        reader, writer = os.pipe()
        with open(reader, "rb") as answers:
            with open(writer, "wb") as output:
                holder = Child(
                    (*_UNSHARE, sys.executable, "-m", "localcluster.realnode.init"),
                    output=output,
                    environment=os.environ | system_path(),
                    folder=_ROOT,
                    own_group=True,
                )
            answer = _answer_of(answers.fileno())
        if not answer.isdigit():
            holder.kill_now()
            raise LocalClusterError(
                f"This machine refuses new namespaces, which a real node needs: {answer}. An"
                " unprivileged container is not enough; use a virtual machine or a privileged one."
            )
        return cls(holder, int(answer))

    def command(self, *command: str) -> tuple[str, ...]:
        """Returns the command that runs `command` inside, to be started in `folder`."""
        program = (sys.executable, "-m", "localcluster.realnode.enter")
        return (*program, str(self.process_1), *command)

    @property
    def folder(self) -> Path:
        """Returns the working folder for `command`; the program inside starts in `/`."""
        return _ROOT

    async def run(self, *command: str) -> str:
        """Runs a short program inside; returns its output. Raises LocalClusterError if it fails."""
        code, output = await captured(
            self.command(*command),
            environment=os.environ | system_path(),
            folder=self.folder,
        )
        if code != 0:
            raise LocalClusterError(
                f"`{' '.join(command)}` failed on the real node (exit code {code}):"
                f" {output.strip()}"
            )
        return output

    async def run_module(self, module: str, *arguments: str) -> str:
        """Runs a module of this repository inside, as `run` does."""
        python = ("env", f"PYTHONPATH={_ROOT}", sys.executable, "-m", module)
        return await self.run(*python, *arguments)

    def path(self, inside: str) -> Path:
        """Returns the path by which this process reaches a path of the mount namespace."""
        return Path(f"/proc/{self.process_1}/root{inside}")

    def kill_now(self) -> None:
        """Ends every process inside and waits until they are gone. A second call does nothing."""
        if self._pidfd is None:
            return
        self._holder.kill_now()
        # Process 1 counts as ended only once the kernel has ended all the others.
        gone = select.poll()
        gone.register(self._pidfd, select.POLLIN)
        gone.poll(_END_SECONDS * 1000)
        os.close(self._pidfd)
        self._pidfd = None


def _answer_of(reader: int) -> str:
    """Returns the process id that process 1 prints, or all other output up to its end."""
    answer = b""
    while not (answer.endswith(b"\n") and answer.strip().isdigit()):
        more = os.read(reader, 4096)
        if not more:
            break
        answer += more
    return answer.decode(errors="replace").strip()
