"""The recorder and signals: whom it forwards them to, and what is collateral."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.recorded import WORKER, Container, line
from worker.record import SYSTEM

RAISE = "raise ValueError('bad shard é')"
# Programs wait by `sigtimedwait`, not by `pause`: a signal that comes right before `pause` would be
# handled only when another one comes.


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_a_worker_that_gets_a_signal_is_collateral(container: Container) -> None:
    process = container.start("--", "sh", "-c", "echo ready; exec sleep 100")
    line(process.stdout)
    process.send_signal(signal.SIGTERM)
    ended = container.end(process)
    record = ended.record
    assert ended.exit_code == 143
    assert ended.stored == ()
    assert record is not None
    assert (record.collateral, record.recoverable, record.origin) == (True, True, SYSTEM)
    assert (record.code, record.signal, record.exit_code) == ("SIGTERM", 15, 143)
    assert record.message == "asked to end by SIGTERM, and killed by SIGTERM (signal 15)"
    assert record.uri == ""


def test_a_worker_that_exits_with_0_after_a_signal_leaves_no_record(container: Container) -> None:
    program = (
        "import signal, sys\nsignal.signal(15, lambda *_: sys.exit(0))\n"
        "print('ready', flush=True)\nwhile True: signal.sigtimedwait([], 1)"
    )
    process = container.start("--", sys.executable, "-c", program)
    line(process.stdout)
    process.send_signal(signal.SIGTERM)
    ended = container.end(process)
    assert (ended.exit_code, ended.log, ended.stored) == (0, "", ())


def test_an_exception_because_of_the_signal_is_collateral(container: Container) -> None:
    program = (
        "import signal\ndef end(*_): raise KeyError('half a batch')\nsignal.signal(15, end)\n"
        "print('ready', flush=True)\nwhile True: signal.sigtimedwait([], 1)"
    )
    process = container.start("--", sys.executable, "-c", program)
    line(process.stdout)
    process.send_signal(signal.SIGTERM)
    ended = container.end(process)
    assert ended.record is not None
    assert ended.record.collateral
    assert ended.record.message.startswith("asked to end by SIGTERM, and KeyError: 'half a batch'")
    assert (ended.exit_code, ended.stored) == (1, ())


def test_torchruns_file_about_the_signal_is_collateral(container: Container) -> None:
    """Its time is in whole seconds, and so before the signal."""
    program = (
        "import json, os, signal, sys, time\ndef end(*_):\n"
        "    facts = {'py_callstack': 'x', 'timestamp': str(int(time.time()))}\n"
        "    text = 'SignalException: Process 1 got signal: 15'\n"
        "    with open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w') as file:\n"
        "        json.dump({'message': {'message': text, 'extraInfo': facts}}, file)\n"
        "    sys.exit(1)\n"
        "signal.signal(15, end)\nprint('ready', flush=True)\nwhile True: signal.sigtimedwait([], 1)"
    )
    process = container.start("--", sys.executable, "-c", program)
    line(process.stdout)
    process.send_signal(signal.SIGTERM)
    ended = container.end(process)
    assert ended.record is not None
    assert (ended.record.collateral, ended.record.code) == (True, "SIGTERM")
    assert (ended.exit_code, ended.stored) == (1, ())


def test_a_worker_that_ignores_the_signal_has_its_record_already(container: Container) -> None:
    """The kubelet kills the whole container when the grace period is over."""
    program = (
        "import os, signal\nsignal.signal(15, lambda *_: os.write(1, b'heard\\n'))\n"
        "print('ready', flush=True)\nwhile True: signal.sigtimedwait([], 1)"
    )
    process = container.start("--", sys.executable, "-c", program)
    line(process.stdout)
    process.send_signal(signal.SIGTERM)
    assert line(process.stdout) == "heard\n"
    process.send_signal(signal.SIGTERM)
    # The second signal arrives after the first one was dealt with.
    assert line(process.stdout) == "heard\n"
    child = int(_children(process.pid)[0])
    process.kill()
    os.kill(child, signal.SIGKILL)
    ended = container.end(process)
    assert ended.record is not None
    assert (ended.record.collateral, ended.record.code) == (True, "SIGTERM")


def test_a_failure_before_the_signal_is_the_workers_own(container: Container) -> None:
    program = (
        "import atexit, signal\n"
        "def end():\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, [15])\n"
        "    print('ready', flush=True)\n"
        "    signal.sigwait([15])\n"
        "atexit.register(end)\n" + RAISE
    )
    process = container.start("--", sys.executable, "-c", program)
    line(process.stdout)
    process.send_signal(signal.SIGTERM)
    ended = container.end(process)
    assert ended.record is not None
    assert (ended.record.collateral, ended.record.code) == (False, "ValueError")
    assert ended.document.code == "ValueError"


def test_signals_that_are_ignored_stay_ignored(container: Container) -> None:
    """As under nohup."""
    program = "import signal; print(signal.getsignal(signal.SIGHUP), signal.pthread_sigmask(0, []))"
    recorder = f"trap '' HUP; exec {sys.executable} {WORKER} -- {sys.executable} -c '{program}'"
    ended = subprocess.run(
        ["sh", "-c", recorder],
        env=container.environ,
        cwd=container.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "1 set()\n"


def test_the_command_is_in_the_recorders_process_group(container: Container) -> None:
    process = container.start("--", sys.executable, "-c", "import os; print(os.getpgid(0))")
    expected = os.getpgid(process.pid)
    assert int(container.end(process).stdout) == expected


# Holds the recorder until the command has ended and the signal has arrived.
WAIT = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from worker import child, signals
process = child.start(["sh", "-c", sys.argv[2]], os.environ, signals.hold())
os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
os.kill(os.getpid(), signal.SIGTERM)
end_signals = []
ended = child.wait(process, lambda *arguments: end_signals.append(arguments))
print(ended.status, ended.end_signal is not None, len(end_signals))
"""


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("exit 3", "3 False 0"),
        ("kill -SEGV $$", "-11 False 0"),
        # A shell that sends its own signal to the whole process group.
        ("kill -TERM $$", "-15 True 1"),
    ],
)
def test_an_end_before_the_signal_is_the_workers_own(command: str, expected: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WAIT, str(WORKER.parent), command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == (f"{expected}\n", "")


def test_threads_of_the_image_receive_no_signals_of_the_recorder(container: Container) -> None:
    """OpenTelemetry's sitecustomize starts some; the recorder once missed how a command ended."""
    (container.folder / "site").mkdir()
    (container.folder / "site" / "sitecustomize.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    ended = container.run(
        "--recoverable-exit-codes=3",
        "--",
        "sh",
        "-c",
        "ls /proc/$PPID/task | wc -l; exit 3",
        PYTHONPATH=str(container.folder / "site"),
        AW_ERROR_URI="memory://store",
    )
    # The driver of a store is a package of the image: it is found all the same.
    assert (ended.exit_code, ended.stdout, ended.stderr) == (3, "1\n", "")
    assert ended.record is not None


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
