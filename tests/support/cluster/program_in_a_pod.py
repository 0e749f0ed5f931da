"""Runs a program of the product as in a pod, but without a container runtime.

It is the first process of a PID namespace. Its root has only the interpreter, the packages and that
program's sources, all read-only. Its user is in no user database, and has no home and no rights.
Nothing can be written anywhere, not even below /tmp or /dev/shm. The kubelet's mounts (credentials,
the ConfigMap) and two variables are there. The network is this machine's.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import aiohttp

from localcluster.images import recipe
from localcluster.machine.slowness import stretched
from tests.support.cluster.webhook_process import WebhookProcess

_ROOT: Final = Path(__file__).resolve().parents[3]
_SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_CONFIG: Final = "/etc/appwrapper"
_USER: Final = 65532
# The official package is for kubeconfigs, and the images leave it out.
_LEFT_OUT: Final = ("kubernetes",)
_IS_ROOT: Final = os.geteuid() == 0
# All of it ends with the process that runs the tests. A user other than root becomes the root of a
# user namespace, who may mount.
_DIES_WITH_US: Final = ("setpriv", "--pdeathsig", "KILL")
_AS_ROOT: Final = (*(() if _IS_ROOT else ("unshare", "--user", "--map-root-user")), *_DIES_WITH_US)
_NEW_PROCESSES: Final = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
_NO_RIGHTS: Final = (
    "setpriv --no-new-privs --inh-caps=-all --bounding-set=-all --pdeathsig KILL"
    + (f" --reuid={_USER} --regid={_USER} --clear-groups" if _IS_ROOT else "")
)
_PACKAGES: Final = Path(aiohttp.__file__).parent.parent
_PYTHON: Final = Path(sys.executable).resolve()
_SCRIPT: Final = """
show() {{
  mkdir -p "{root}$2"
  mount --rbind "$1" "{root}$2"
  mount -o remount,bind,ro "{root}$2"
}}
mount -t tmpfs -o mode=0755 tmpfs "{root}"
for each in /usr /lib /lib64; do [ -e "$each" ] && show "$each" "$each"; done
show "{python}" "{python}"
show "{packages}" /packages
for each in {left_out}; do
  [ -d "{packages}/$each" ] && mount -t tmpfs -o ro tmpfs "{root}/packages/$each"
done
for each in {ours}; do show "{sources}/$each" "/app/$each"; done
{volumes}
mkdir "{root}/proc" "{root}/dev"
mount -t proc proc "{root}/proc"
for each in null urandom; do
  touch "{root}/dev/$each"
  mount --bind "/dev/$each" "{root}/dev/$each"
done
mount -o remount,bind,ro "{root}"
cd /
exec chroot "{root}" {no_rights} {interpreter} -m {program} "$@"
"""


class Pod(WebhookProcess):
    """A running program. Signals go to it, as from a kubelet, and not to its starter."""

    @property
    def pid(self) -> int:
        """Returns the program's process id, as seen from outside."""
        return int(_children(self.process.pid)[0])

    @property
    def children(self) -> list[str]:
        """Returns the processes that it has started."""
        found: list[str] = []
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ends meanwhile
                found += (task / "children").read_text().split()
        return found

    @property
    def status(self) -> dict[str, list[str]]:
        """Returns the kernel's /proc/PID/status of the program."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}

    @property
    def writable(self) -> set[str]:
        """Returns the mounts that the program sees and that are not read-only."""
        mounts = Path(f"/proc/{self.pid}/mountinfo").read_text().splitlines()
        fields = [line.split() for line in mounts]
        return {each[4] for each in fields if "ro" not in each[5].split(",")}

    async def begins(self) -> None:
        """Waits until there is a first process, which soon becomes the program; or its end."""
        async with asyncio.timeout(stretched(30.0)):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended by now
                # No event reports it.
                while not (self._reading.done() or _children(self.process.pid)):  # noqa: ASYNC110
                    await asyncio.sleep(0.001)

    def ask_to_end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Sends the signal to the program itself."""
        os.kill(self.pid, number)


async def why_no_pods() -> str:
    """Returns what this machine forbids; empty if it can run pods."""
    try:
        process = await asyncio.create_subprocess_exec(
            *(*_AS_ROOT, *_NEW_PROCESSES, "mount", "-t", "tmpfs", "tmpfs", "/mnt"),
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError as missing:
        return f"{missing.filename} is missing: apt-get install util-linux"
    _, errors = await process.communicate()
    if process.returncode == 0:
        return ""
    return f"neither root nor allowed to make user namespaces: {errors.decode().strip()}"


@asynccontextmanager
async def pod(
    folder: Path,
    program: str,
    *,
    server: tuple[str, int],
    account: Path,
    config: Path,
    flags: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Pod]:
    """Runs `program` until the end of the block; `folder` is empty, and for this pod alone.

    `account` and `config` are folders as a kubelet mounts them. `server` is the API server's
    address in the pod's variables.
    """
    root = folder / "root"
    root.mkdir()
    host, port = server
    given = {
        "PATH": "/usr/sbin:/usr/bin",
        "PYTHONPATH": "/app:/packages",
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": str(port),
    }
    command = (
        *_AS_ROOT,
        *_NEW_PROCESSES,
        *("sh", "-euc", _script(root, program, {account: _SERVICE_ACCOUNT, config: _CONFIG}), "sh"),
        *("--config", f"{_CONFIG}/config.yaml", *flags),
    )
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=given | dict(environment or {}),
    )
    running = Pod(process)
    try:
        await running.begins()
        yield running
    finally:
        await running.kill()


def _script(root: Path, program: str, volumes: Mapping[Path, str]) -> str:
    return _SCRIPT.format(
        root=root,
        python=sys.base_prefix,
        interpreter=_PYTHON,
        packages=_PACKAGES,
        left_out=" ".join(_LEFT_OUT),
        sources=_ROOT,
        ours=" ".join(recipe.sources(program)),
        program=program,
        volumes="\n".join(f'show "{source}" {target}' for source, target in volumes.items()),
        no_rights=_NO_RIGHTS,
    )


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
