"""`python -m localcluster` as people use and abuse it. Each test has clusters of its own."""

import asyncio
import dataclasses
import json
import os
import shutil
import signal
import stat
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.machine.child import Child, captured
from localcluster.machine.errors import DiskFull
from localcluster.machine.progress import silent
from localcluster.programs.build_cache import BuildCache
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go
from tests.support.manifests import ROOT
from tests.support.sandbox import Sandbox, until_no_process_of

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Outcome:
    code: int
    text: str


async def localcluster(*arguments: str, env: dict[str, str] | None = None) -> Outcome:
    command = (sys.executable, "-m", "localcluster", *arguments)
    code, text = await captured(command, environment=dict(os.environ) | (env or {}), folder=ROOT)
    return Outcome(code, text)


def files_in(folder: Path) -> list[str]:
    """The names of all files below it."""
    return sorted(entry.name for entry in folder.rglob("*") if entry.is_file())


async def status_of(directory: Path) -> dict[str, object]:
    outcome = await localcluster("status", "--dir", str(directory), "-o", "json")
    assert outcome.code == 0, outcome.text
    decoded: dict[str, object] = json.loads(outcome.text)
    return decoded


async def test_two_clusters_side_by_side_and_one_killed(sandbox: Sandbox) -> None:
    one, other = sandbox.folder / "one", sandbox.folder / "other"
    env = sandbox.environment
    try:
        starts = await asyncio.gather(
            *(localcluster("up", "--dir", str(each), "--without-product", "--nodes=1", env=env)
              for each in (one, other))
        )  # fmt: skip
        for start, folder in zip(starts, (one, other), strict=True):
            assert start.code == 0, start.text
            assert f"export KUBECONFIG={folder}/kubeconfig" in start.text
        assert (one / "kubeconfig").read_text() != (other / "kubeconfig").read_text()

        again = await localcluster("up", "--dir", str(one), env=env)
        killed = await status_of(one)
        assert again == Outcome(
            1,
            f"localcluster: A cluster is running already in {one} (process {killed['pid']})."
            f" `python -m localcluster status --dir {one}` shows it, `down` ends it.\n",
        )

        os.kill(int(str(killed["pid"])), signal.SIGKILL)
        await until_no_process_of(one)
        assert (await status_of(other))["ready"] is True
        assert await localcluster("status", "--dir", str(one)) == Outcome(
            3, f"No cluster runs in {one}.\n"
        )
        assert await localcluster("down", "--dir", str(one)) == Outcome(
            0, f"Removed what a killed run left in {one}.\n"
        )
    finally:
        down = await localcluster("down", "--dir", str(other), env=env)
        await localcluster("down", "--dir", str(one), env=env)
    assert down == Outcome(0, f"Stopped the cluster in {other}.\n")
    assert not one.exists()
    assert not other.exists()
    await until_no_process_of(sandbox.folder)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 130, id="SIGTERM"),
        pytest.param(signal.SIGKILL, -9, id="kill -9 of the command"),
    ],
)
@pytest.mark.parametrize("moment", ["kube-apiserver", "kube-scheduler"])
async def test_interrupted_start_leaves_nothing(
    sandbox: Sandbox, number: signal.Signals, code: int, moment: str
) -> None:
    directory = sandbox.folder / "cluster"
    with (sandbox.folder / "output").open("wb") as output:
        command = Child(
            (sys.executable, "-m", "localcluster", "up", "--dir", str(directory)),
            output=output,
            environment=dict(os.environ) | sandbox.environment,
            folder=ROOT,
        )
        while not (directory / "logs" / f"{moment}.log").exists():
            assert command.exit_code is None, (sandbox.folder / "output").read_text()
            await asyncio.sleep(0.01)
        command.signal(number)
        assert await command.wait() == code
    await until_no_process_of(sandbox.folder)
    assert not directory.exists()
    assert sandbox.temporary == []


def fake_go(folder: Path, version: str = "go1.26.8") -> Path:
    """A toolchain whose builds never end, and start a child as the real one does."""
    folder.mkdir()
    program = folder / "go"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        f'env) echo \'{{"GOVERSION":"{version}","GOCACHE":"/tmp","GOMODCACHE":"/tmp"}}\';;\n'
        f"build) sleep 1000 & touch {folder}/building; wait;;\n"
        "esac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_interrupted_build_leaves_no_compiler(
    sandbox: Sandbox, number: signal.Signals
) -> None:
    go = fake_go(sandbox.folder / "go")
    cache = sandbox.folder / "cache"
    env = sandbox.environment | {
        "PATH": f"{go}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(cache),
    }
    with (sandbox.folder / "output").open("wb") as output:
        command = Child(
            (sys.executable, "-m", "localcluster", "build"),
            output=output,
            environment=dict(os.environ) | env,
            folder=ROOT,
        )
        while not (go / "building").exists():
            assert command.exit_code is None, (sandbox.folder / "output").read_text()
            await asyncio.sleep(0.01)
        command.signal(number)
        assert await command.wait() == (-9 if number is signal.SIGKILL else 130)
    await until_no_process_of(sandbox.folder)
    if number is not signal.SIGKILL:
        assert list((cache / "appwrapper-localcluster" / "bin").iterdir()) == []
    assert sandbox.temporary == []


async def test_missing_go(sandbox: Sandbox) -> None:
    outcome = await localcluster("build", env={"PATH": str(sandbox.folder)})
    assert outcome == Outcome(
        1,
        "localcluster: There is no Go toolchain on the PATH, and it builds the components."
        " Install Go 1.26 or newer (https://go.dev/doc/install) and put its `go` on the PATH.\n",
    )


async def test_go_too_old(sandbox: Sandbox) -> None:
    go = fake_go(sandbox.folder / "go", "go1.25.9")
    outcome = await localcluster("build", env={"PATH": f"{go}:/usr/bin:/bin"})
    assert outcome == Outcome(
        1,
        f"localcluster: {go}/go is go1.25.9, which is too old."
        " Install Go 1.26 or newer (https://go.dev/doc/install) and put its `go` on the PATH.\n",
    )


async def test_unknown_component_lists_the_known_ones() -> None:
    outcome = await localcluster("up", "--with", "jobset,knative")
    assert outcome == Outcome(
        1,
        "localcluster: There is no component knative. Those that can be added are:"
        " cert-manager, coscheduler, jobset, kuberay, leaderworkerset, mpi-operator,"
        " trainer, training-operator.\n",
    )


@pytest_asyncio.fixture
async def small_disk(tmp_path: Path) -> AsyncIterator[Path]:
    """A file system of 50 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    code, output = await captured(("mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", str(folder)))
    if code != 0:
        pytest.skip(f"needs the right to mount a tmpfs: {output.strip()}")
    try:
        yield folder
    finally:
        code, output = await captured(("umount", str(folder)))
        assert code == 0, output


async def test_cluster_on_a_small_disk(small_disk: Path) -> None:
    outcome = await localcluster("up", env={"TMPDIR": str(small_disk)})
    assert outcome.code == 1
    assert outcome.text.startswith("localcluster: A cluster needs about 400 MB, but only 5")
    assert outcome.text.endswith(
        f" MB are free at {small_disk}/appwrapper-localcluster-{os.getuid()}. Free some space,"
        " or use --dir (or TMPDIR) to put the cluster on a larger disk.\n"
    )
    assert files_in(small_disk) == []


async def test_programs_on_a_small_disk(small_disk: Path) -> None:
    outcome = await localcluster("build", env={"XDG_CACHE_HOME": str(small_disk)})
    assert outcome.code == 1
    assert "localcluster: Keeping the programs (etcd, kubernetes, " in outcome.text
    assert "Free some space, or set XDG_CACHE_HOME to a folder on a larger disk." in outcome.text
    assert files_in(small_disk) == ["build.lock"]


async def test_disk_full_in_the_middle_of_a_build(small_disk: Path) -> None:
    # 20 MB are free, more than the component says it needs, less than it does.
    (small_disk / "others").write_bytes(bytes(30_000_000))
    etcd = dataclasses.replace(CATALOGUE["etcd"], megabytes=10)
    cache = BuildCache(small_disk, await find_go(), silent)
    with pytest.raises(DiskFull, match="The disk became full while etcd was being built"):
        await cache.ensure([etcd])
    assert files_in(small_disk) == ["build.lock", "others"]


async def test_disk_full_while_the_cluster_starts(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localcluster.machine.folder._MEGABYTES", 10)
    (small_disk / "others").write_bytes(bytes(20_000_000))
    cluster = LocalCluster(ClusterOptions(directory=small_disk / "cluster", product=False))
    with pytest.raises(DiskFull) as caught:
        await cluster.__aenter__()
    assert str(caught.value).startswith(
        "The disk is full: etcd ended because it could not write. Free some space, or use --dir"
    )
    assert files_in(small_disk) == ["others"]
    await until_no_process_of(small_disk)
    kept = Path(str(caught.value).rpartition("The whole log is ")[2].removesuffix("."))
    assert kept.is_file()
    shutil.rmtree(kept.parent)
