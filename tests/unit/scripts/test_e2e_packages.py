"""What is done where a real node's requirements are met, can be met, and cannot be."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localcluster.realnode import requirements
from scripts import e2e_packages
from scripts.e2e_packages import command

MISSING = "runc is missing: apt-get install runc."
Lack = tuple[list[str], list[str]]
FRESH: Lack = ([MISSING], ["runc"])
READY: Lack = ([], [])


@pytest.mark.parametrize(
    ("root", "debian", "install", "may"),
    [
        (True, True, {}, True),
        (True, True, {"INSTALL": "1"}, True),
        (False, True, {}, False),
        (True, False, {}, False),
        (True, True, {"INSTALL": "0"}, False),
    ],
)
def test_packages_are_installed_as_root_on_debian_unless_forbidden(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    root: bool,
    debian: bool,
    install: dict[str, str],
    may: bool,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(e2e_packages, "_DEBIAN", tmp_path if debian else tmp_path / "none")
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true")
    assert e2e_packages.may_install(install) is may
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert e2e_packages.may_install(install) is False


@pytest.mark.parametrize("there", [True, False])
def test_the_tests_need_a_registry_beside_the_node(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setattr(requirements, "missing", lambda: [MISSING])
    monkeypatch.setattr(requirements, "packages", lambda: ["runc"])
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true" if there else None)
    sentences, packages = e2e_packages.missing()
    message = (
        "The tests need the program docker-registry. On Debian:"
        " apt-get install --no-install-recommends docker-registry"
    )
    assert sentences == ([MISSING] if there else [MISSING, message])
    assert packages == (["runc"] if there else ["runc", "docker-registry"])


def test_no_service_is_started_and_nothing_is_removed() -> None:
    asked = (
        "apt-get", "install", "--yes", "--no-install-recommends", "--no-remove",
        "-o", "DPkg::Lock::Timeout=300", "runc", "buildah",
    )  # fmt: skip
    packages = ("runc", "buildah")
    assert command(packages, systemd=False) == asked
    hidden = ('mount -t tmpfs none /run/systemd && exec "$@"', "sh")
    assert command(packages, systemd=True) == ("unshare", "--mount", "sh", "-c", *hidden, *asked)


class Debian:
    """A machine whose apt-get does as it is told, or fails."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, lack: Lack, code: int = 0, *, may: bool = True
    ) -> None:
        self._lack = lack
        self._code = code
        self.installed: list[list[str]] = []
        monkeypatch.setattr(e2e_packages, "may_install", lambda environment: may)
        monkeypatch.setattr(e2e_packages, "missing", lambda: self._lack)
        monkeypatch.setattr(e2e_packages, "install", self._install)

    def _install(self, packages: list[str]) -> int:
        self.installed.append(packages)
        if self._code == 0:
            self._lack = READY
        return self._code


def test_after_the_installation_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    debian = Debian(monkeypatch, FRESH)
    left_out, took = e2e_packages.settle()
    assert debian.installed == [["runc"]]
    assert left_out == ""
    [printed] = took
    assert re.fullmatch(r"installation of packages: \d+ s", printed)


def test_an_installation_that_fails_leaves_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    debian = Debian(monkeypatch, FRESH, code=100)
    left_out, _ = e2e_packages.settle()
    assert debian.installed == [["runc"]]
    assert left_out == f"apt-get failed with exit code 100. {MISSING}"


@pytest.mark.parametrize(
    ("lack", "may", "left_out"),
    [
        (READY, True, ""),
        (READY, False, ""),
        (FRESH, False, MISSING),
        (([MISSING], []), True, MISSING),
        ((["It needs root.", MISSING], ["runc"]), False, f"It needs root. {MISSING}"),
    ],
    ids=["ready", "ready elsewhere", "forbidden", "no package would help", "all are reported"],
)
def test_nothing_is_installed_if_that_is_needless_or_forbidden(
    monkeypatch: pytest.MonkeyPatch, lack: Lack, may: bool, left_out: str
) -> None:
    debian = Debian(monkeypatch, lack, may=may)
    assert e2e_packages.settle() == (left_out, ())
    assert debian.installed == []


def test_ctrl_c_waits_for_apt_get_and_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Killed at work, it leaves packages that are half installed."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's `&`
    done = tmp_path / "done"
    installs = (
        "import os, pathlib, signal, threading;"
        "os.kill(os.getppid(), signal.SIGINT);"
        "threading.Event().wait(0.6);"
        f"pathlib.Path({str(done)!r}).touch()"
    )
    monkeypatch.setattr(e2e_packages, "missing", lambda: FRESH)
    monkeypatch.setattr(e2e_packages, "may_install", lambda environment: True)
    monkeypatch.setattr(
        e2e_packages, "command", lambda packages, systemd: (sys.executable, "-c", installs)
    )
    with pytest.raises(SystemExit) as ended:
        e2e_packages.settle()
    assert (ended.value.code, done.exists()) == (130, True)


class AptCache:
    """apt-cache, which knows the package after so many updates of its lists."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, updates: int) -> None:
        self._needed = updates
        self.ran: list[tuple[str, ...]] = []
        monkeypatch.setattr(subprocess, "run", self._run)

    def _run(
        self, command: tuple[str, ...], **options: object
    ) -> subprocess.CompletedProcess[bytes]:
        self.ran.append(command)
        knows = self.ran.count(("apt-get", "update")) >= self._needed
        return subprocess.CompletedProcess(command, 0 if knows else 100)


SHOW, UPDATE = ("apt-cache", "show", "--no-all-versions", "python3-torch"), ("apt-get", "update")


def test_the_package_of_pytorch_is_looked_for_and_lists_are_fetched_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = AptCache(monkeypatch, updates=0)
    assert (e2e_packages.without_torch(), known.ran) == ("", [SHOW])
    stale = AptCache(monkeypatch, updates=1)
    assert (e2e_packages.without_torch(), stale.ran) == ("", [SHOW, UPDATE, SHOW])
    assert capsys.readouterr().out == "+ apt-get update\n"


def test_without_a_source_of_pytorch_a_sentence_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = AptCache(monkeypatch, updates=2)
    assert e2e_packages.without_torch() == (
        "apt's sources on this machine have no package python3-torch: Debian 12 and newer have it"
        " in their component main."
    )
    assert unknown.ran == [SHOW, UPDATE, SHOW]
