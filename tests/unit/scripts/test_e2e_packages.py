"""What is done where a real node's requirements are met, can be met, and cannot be."""

import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from localcluster.realnode import requirements
from scripts import e2e_packages
from scripts.e2e_packages import InstallDecision, Machine, command, decide

MISSING = "runc is missing: apt-get install runc."
FRESH = Machine(root=True, debian=True, may_install=True, missing=(MISSING,), packages=("runc",))
READY = Machine(root=True, debian=True, may_install=True, missing=(), packages=())


@pytest.mark.parametrize(
    "machine",
    [READY, replace(READY, debian=False), replace(READY, may_install=False)],
    ids=["Debian", "another system", "INSTALL=0"],
)
def test_it_runs_where_nothing_is_missing(machine: Machine) -> None:
    assert decide(machine) == InstallDecision(packages=(), left_out="")


def test_missing_packages_are_installed_as_root_on_debian() -> None:
    assert decide(FRESH) == InstallDecision(packages=("runc",), left_out="")


@pytest.mark.parametrize(
    "machine",
    [
        replace(FRESH, root=False),
        replace(FRESH, debian=False),
        replace(FRESH, may_install=False),
        replace(FRESH, packages=()),
    ],
    ids=["not root", "not Debian", "INSTALL=0", "no package would help"],
)
def test_elsewhere_e2e_is_omitted_with_a_reason(machine: Machine) -> None:
    assert decide(machine) == InstallDecision(packages=(), left_out=MISSING)


def test_all_missing_packages_are_reported() -> None:
    machine = replace(FRESH, root=False, missing=("It needs root.", MISSING))
    assert decide(machine).left_out == f"It needs root. {MISSING}"


@pytest.mark.parametrize("there", [True, False])
def test_the_tests_need_a_registry_beside_the_node(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setattr(requirements, "missing", lambda: [MISSING])
    monkeypatch.setattr(requirements, "packages", lambda: ["runc"])
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true" if there else None)
    found = e2e_packages.observe({})
    told = (
        "The tests need the program docker-registry. On Debian:"
        " apt-get install --no-install-recommends docker-registry"
    )
    assert found.missing == ((MISSING,) if there else (MISSING, told))
    assert found.packages == (("runc",) if there else ("runc", "docker-registry"))


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

    def __init__(self, monkeypatch: pytest.MonkeyPatch, first: Machine, code: int = 0) -> None:
        self._machine = first
        self._code = code
        self.installed: list[tuple[str, ...]] = []
        monkeypatch.setattr(e2e_packages, "observe", lambda environment: self._machine)
        monkeypatch.setattr(e2e_packages, "install", self._install)

    def _install(self, packages: tuple[str, ...]) -> int:
        self.installed.append(packages)
        if self._code == 0:
            self._machine = READY
        return self._code


def test_after_the_installation_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    debian = Debian(monkeypatch, FRESH)
    left_out, took = e2e_packages.settle()
    assert debian.installed == [("runc",)]
    assert left_out == ""
    [said] = took
    assert re.fullmatch(r"installation of packages: \d+ s", said)


def test_an_installation_that_fails_leaves_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    debian = Debian(monkeypatch, FRESH, code=100)
    left_out, _ = e2e_packages.settle()
    assert debian.installed == [("runc",)]
    assert left_out == f"apt-get failed with exit code 100. {MISSING}"


@pytest.mark.parametrize("machine", [READY, replace(FRESH, root=False)])
def test_nothing_is_installed_where_it_is_not_to_be(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    debian = Debian(monkeypatch, machine)
    assert e2e_packages.settle() == (decide(machine).left_out, ())
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
    monkeypatch.setattr(e2e_packages, "observe", lambda environment: FRESH)
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
