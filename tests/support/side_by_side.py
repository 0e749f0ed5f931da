"""A pytest plugin for `-n N`: workers side by side on one cluster, which the runner owns.

The runner (xdist's controller) starts the host of the cluster and gives its folder to the workers.
A worker that dies, or exceeds its time limit, fails its test; another worker takes the rest.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from localcluster.access.options import ClusterOptions, encode_options
from localcluster.machine.interrupts import end_with_parent
from tests.support.cluster.remote_observer import CLUSTER, SOCKET, HostFailed, RemoteObserver
from tests.support.cpu_clock import CpuClock

FOLDER: Final = "SHARED_CLUSTER"
"""The environment variable with the host's folder, for workers. Unset: nothing is shared."""
COMPONENTS: Final = frozenset({"training-operator", "coscheduler", "jobset"})
LONG_COMPONENTS: Final = COMPONENTS | {"kuberay"}
"""KubeRay's definitions, 4 MB, cost each start seconds. Tests that need it are marked `long`."""
# Begun first, so that no worker ends long after the others.
LONGEST: Final = (
    "leader_worker_sets",
    "operated_kinds",
    "test_quota.py",
    "test_explain.py",
    "test_samples.py",
    "mpi_jobs",
    "test_component_status.py",
    "test_bad_requests.py",
    "test_webhook_process.py",
    "test_large_objects.py",
    "test_crash_loops.py",
    "registrations",
    "test_deletion_blocked.py",
    "test_admission_limits.py",
    "test_lifecycle.py",
)
_TESTS: Final = Path(__file__).parent.parent
_NEEDS_IT: Final = _TESTS / "integration" / "shared"
_PREFIX: Final = "appwrapper-tests-"


def is_worker(config: pytest.Config) -> bool:
    """True in a process that runs tests for a runner."""
    return hasattr(config, "workerinput")


def is_runner(config: pytest.Config) -> bool:
    """True in a process that hands tests to workers."""
    return bool(config.getoption("numprocesses", None)) and not is_worker(config)


def scope_of(nodeid: str) -> str:
    """Return the file of a test; for a test in a folder below `shared`, that folder."""
    file = nodeid.partition("::")[0]
    _, shared, below = file.partition("integration/shared/")
    return f"{shared}{below.partition('/')[0]}" if shared else file


def longest_first(items: list[pytest.Item]) -> None:
    """Sort the tests of LONGEST to the front, in that order; the others stay as they are."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(scope_of(item.nodeid).rpartition("/")[2], len(LONGEST)))


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Assigns whole files, and whole folders below `shared`.

    A folder is for files that use the same object without a namespace. The test during which a
    worker died is not repeated.
    """

    def _split_scope(self, nodeid: str) -> str:
        """Return the unit that one worker runs without a break: the name of a file or a folder."""
        return scope_of(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test that the dead worker was running; the rest goes to other workers."""
        unfinished = [
            (unit, nodeid)
            for unit in self.assigned_work[node].values()
            for nodeid, completed in unit.items()
            if not completed
        ]
        if unfinished:
            unit, running = unfinished[0]
            unit[running] = True
        super().remove_node(node)
        return unfinished[0][1] if unfinished else None

    def _reschedule(self, node: WorkerController) -> None:
        """Give the worker more if it needs more and has collected its tests.

        The replacement of a dead worker exists before it has collected. xdist would look up its
        collection and take the KeyError for "that worker is not known". Then both the failed test
        and the file just taken from the queue would be lost.
        """
        if node in self.registered_collections:
            super()._reschedule(node)


class Runner:
    """Owns the host for the time of one run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._folder: Path | None = None
        self._host: subprocess.Popen[bytes] | None = None
        self._summary: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Start the host before xdist starts the workers, which inherit the variable."""
        if not needs_the_cluster(self._config.args, self._config.invocation_params.dir):
            return
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        os.environ[FOLDER] = str(self._folder)
        quick = self._config.getoption("markexpr") == "not long"
        components = COMPONENTS if quick else LONG_COMPONENTS
        options = ClusterOptions(components=components, directory=self._folder / CLUSTER)
        command = (sys.executable, "-m", "tests.support.cluster.host")
        # In a process group of its own: after Ctrl-C the workers still need the cluster.
        self._host = subprocess.Popen(
            (*command, str(self._folder), encode_options(options)),
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=end_with_parent,
        )

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> ByFile:
        """Schedule by file, in the order of the collection."""
        config.option.loadscopereorder = False
        return ByFile(config, log)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End the host, once the workers have ended. Violations that no test has read fail the
        run.
        """
        if self._host is None or self._folder is None:
            return
        try:
            self._judge(session)
        finally:
            self._end()

    def _judge(self, session: pytest.Session) -> None:
        assert self._folder is not None
        socket = self._folder / SOCKET
        if not socket.exists():  # Ctrl-C while it was starting, or its start failed
            return
        try:
            host = RemoteObserver(socket)
            found = host.verdict(failed=bool(session.testsfailed))
            self._summary += found
            self._summary += [f"The observer had to list again: {gap}." for gap in host.gaps()]
            if found or session.testsfailed:
                kept = host.keep_logs()
                self._summary.append(f"The logs of the shared cluster's components are in {kept}.")
            host.close()
        except (OSError, HostFailed) as failure:
            found = [f"The host of the shared cluster failed: {failure}"]
            self._summary += found
        if found:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _end(self) -> None:
        assert self._host is not None
        assert self._folder is not None
        clock = CpuClock(self._host.pid)
        clock.since_last()
        self._host.send_signal(signal.SIGTERM)
        if self._host.returncode is None:  # else it has ended already: its start failed
            _, status, used = os.wait4(self._host.pid, 0)
            self._host.returncode = os.waitstatus_to_exitcode(status)
            cpu = used.ru_utime + used.ru_stime
            programs = clock.by_program()
            self._summary.append(f"The shared cluster used {cpu:.0f} s of CPU time: {programs}.")
        shutil.rmtree(self._folder, ignore_errors=True)
        os.environ.pop(FOLDER, None)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the host's findings."""
        for line in self._summary:
            terminalreporter.write_line(line)


def needs_the_cluster(arguments: Sequence[str], directory: Path) -> bool:
    """True if one of pytest's arguments is above or below the folder of tests that share."""
    paths = [directory / argument.partition("::")[0] for argument in arguments]
    return any(path.is_relative_to(_NEEDS_IT) or _NEEDS_IT.is_relative_to(path) for path in paths)
