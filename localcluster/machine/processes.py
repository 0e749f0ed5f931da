"""Starts the cluster's programs, waits until each answers its probe, and stops them in order."""

import asyncio
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.machine.child import Child
from localcluster.machine.disk import says_full
from localcluster.machine.errors import DiskFull, ProcessFailed
from localcluster.machine.slowness import stretched
from localcluster.machine.waiting import Probe, still_missing

_PROBE_SECONDS = 0.05
_STOP_SECONDS = stretched(5.0)
_SHOWN_LINES = 20
_GO_TRACE = re.compile(r"^goroutine \d+ .*\[", re.MULTILINE)
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "VIRTUAL_ENV", "SSL_CERT_FILE")


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A program to run; `probe` never raises.

    `environment` is added to a few inherited variables. `status` shows `address`. `tier` orders the
    end: higher tiers stop first (0 etcd, 1 API server, 2 control plane, 3 operators, 4 the
    product). `deadline` is the seconds until it must be ready: many, since several clusters may
    start at once. An early end is noticed at once.
    """

    name: str
    command: tuple[str, ...]
    probe: Probe
    address: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    tier: int = 3
    deadline: float = stretched(120.0)


@dataclass(slots=True)
class ManagedProcess:
    """A program that was started; `child` changes with each restart."""

    spec: ProcessSpec
    log: Path
    child: Child
    expected_to_run: bool = True

    @property
    def pid(self) -> int:
        """Returns its process id, also after it has ended."""
        return self.child.pid

    @property
    def state(self) -> str:
        """Returns `running`, `stopped` (by us) or `exited with N`."""
        if self.child.exit_code is None:
            return "running"
        return f"exited with {self.child.exit_code}" if self.expected_to_run else "stopped"


class Processes(Mapping[str, ManagedProcess]):
    """The programs of one cluster, by name. Each writes to `logs`/NAME.log."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self._by_name: dict[str, ManagedProcess] = {}
        self._on_change: Callable[[], None] = lambda: None

    def __getitem__(self, name: str) -> ManagedProcess:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Calls `callback` when a program was started or has ended."""
        self._on_change = callback

    async def start(self, spec: ProcessSpec) -> ManagedProcess:
        """Starts a program and returns when it is ready. Raises ProcessFailed with its last lines.

        A program of that name must not be running. One that has ended is started again and
        continues its log.
        """
        known = self._by_name.get(spec.name)
        if known is not None and known.child.exit_code is None:
            raise ValueError(f"{spec.name} is running already")
        process = self._spawn(spec)
        self._by_name[spec.name] = process
        self._on_change()
        await _until_ready(process)
        return process

    async def restart(self, name: str) -> ManagedProcess:
        """Stops the program if it runs and starts it again unchanged."""
        await self.stop(name)
        return await self.start(self._by_name[name].spec)

    async def stop(self, name: str, *, patience: float = _STOP_SECONDS) -> None:
        """Sends SIGTERM, then SIGKILL after `patience` seconds; 0 kills at once, like a crash."""
        process = self._by_name[name]
        process.expected_to_run = False
        if patience == 0:
            process.child.signal(signal.SIGKILL)
            await process.child.wait()
        else:
            await process.child.stop(patience)
        self._on_change()

    async def stop_all(self) -> None:
        """Stops all programs, the highest tier first: what a program needs still runs."""
        self._on_change = lambda: None
        for tier in sorted({each.spec.tier for each in self._by_name.values()}, reverse=True):
            running = [
                each
                for each in self._by_name.values()
                if each.spec.tier == tier and each.child.exit_code is None
            ]
            for process in running:
                process.expected_to_run = False
            await asyncio.gather(*(each.child.stop(_STOP_SECONDS) for each in running))

    def kill_all_now(self) -> None:
        """Sends SIGKILL to all, without the event loop: for the interpreter's exit."""
        for process in self._by_name.values():
            process.child.kill_now()

    def _spawn(self, spec: ProcessSpec) -> ManagedProcess:
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{spec.name}.log"
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        with log.open("ab") as stream:
            try:
                child = Child(
                    spec.command,
                    output=stream,
                    environment=inherited | dict(spec.environment),
                    folder=spec.folder,
                )
            except OSError as failure:
                raise ProcessFailed(f"{spec.name} cannot be started: {failure}.") from failure
        process = ManagedProcess(spec, log, child)
        child.on_exit(lambda: self._on_change())
        return process


async def _until_ready(process: ManagedProcess) -> None:
    spec = process.spec

    async def ask() -> str | None:
        if process.child.exit_code is not None:
            raise _early_end(process)
        return await spec.probe()

    missing = await still_missing(ask, spec.deadline, pause=_PROBE_SECONDS)
    if missing is not None:
        raise ProcessFailed(
            f"{spec.name} was not ready after {spec.deadline:.0f} s: {missing}."
            f"{last_words(process.log)}"
        )


def _early_end(process: ManagedProcess) -> ProcessFailed | DiskFull:
    name, code = process.spec.name, process.child.exit_code
    words = last_words(process.log)
    everything = process.log.read_text(errors="replace")
    if "address already in use" in everything:
        where = f" ({process.spec.address})" if process.spec.address else ""
        return ProcessFailed(
            f"{name} could not listen: another program took its port{where} in the meantime."
            f" Start the cluster again; it will choose other ports.{words}"
        )
    if says_full(everything):
        return DiskFull(
            f"The disk is full: {name} ended because it could not write. Free some space, or use"
            f" --dir (or TMPDIR) to put the cluster on a larger disk.{words}"
        )
    return ProcessFailed(f"{name} ended with exit code {code} before it was ready.{words}")


def last_words(log: Path, lines: int = _SHOWN_LINES) -> str:
    """Returns a log's last lines and its path, for the end of a message."""
    text = log.read_text(errors="replace").rstrip()
    if not text:
        return f" It wrote nothing to its log, {log}."
    # A Go program's message before its death is above the trace.
    output = _GO_TRACE.split(text, maxsplit=1)[0].rstrip() or text
    shown = "\n".join(output.splitlines()[-lines:])
    return f" Its last output:\n\n{shown}\n\nThe whole log is {log}."
