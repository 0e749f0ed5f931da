import asyncio
import dataclasses
import os
from pathlib import Path

import pytest

from localcluster.machine.errors import BuildFailed, DiskFull
from localcluster.programs.build_cache import (
    BuildCache,
    content_hash,
    default_folder,
    default_program_name,
)
from localcluster.programs.catalogue import GoComponent
from localcluster.programs.toolchain import Go

# Stands in for `go`: notes that it was called, and writes what it would have built.
SCRIPT = """#!/bin/sh
echo "$1" >> {calls}
{extra}
case "$1" in
build)
  while [ "$1" != -o ]; do shift; done
  folder=$2; shift 2
  for package in "$@"; do echo program > "$folder$(basename "${{package%/v3}}")"; done;;
list) echo {module};;
esac
"""


class BuildBench:
    """A component, a toolchain that notes its calls, and an empty cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls_file = folder / "calls"
        self.module = folder / "module"
        self.module.mkdir()
        self.lines: list[str] = []
        sources = folder / "sources"
        sources.mkdir()
        (sources / "go.mod").write_text("module x\n\nrequire example.com/tool v1.0.0\n")
        (sources / "go.sum").write_text("sum")
        (sources / "tools.go").write_text("tools")
        programs = {"tool": "example.com/tool/cmd/tool-binary", "other": "example.com/other/v3"}
        self.component = GoComponent("tool", sources, "example.com/tool", programs, 1, 1)
        self.set_script("")
        self.cache = self.new_cache()

    def set_script(self, extra: str) -> None:
        script = SCRIPT.format(calls=self.calls_file, extra=extra, module=self.module)
        (self.folder / "go").write_text(script)
        (self.folder / "go").chmod(0o755)

    def new_cache(self) -> BuildCache:
        go = Go(self.folder / "go", "go1.26.0", self.folder, self.folder)
        return BuildCache(self.folder / "cache", go, self.lines.append)

    @property
    def calls(self) -> list[str]:
        return self.calls_file.read_text().split() if self.calls_file.exists() else []

    @property
    def home(self) -> Path:
        key = content_hash(self.component, "go1.26.0")
        return self.folder / "cache" / "bin" / f"tool-{key}"


@pytest.fixture
def bench(tmp_path: Path) -> BuildBench:
    return BuildBench(tmp_path)


async def test_builds_once_and_names_the_programs(bench: BuildBench) -> None:
    expected = {"tool": bench.home / "tool", "other": bench.home / "other"}
    assert await bench.cache.ensure([bench.component]) == expected
    assert await bench.new_cache().ensure([bench.component]) == expected
    assert bench.calls == ["build"]
    assert all(path.is_file() for path in expected.values())
    assert [each.name for each in (bench.folder / "cache" / "bin").iterdir()] == [bench.home.name]


async def test_two_runs_at_once_build_once_and_the_second_reports_the_wait(
    bench: BuildBench,
) -> None:
    caches = (bench.cache, bench.new_cache())
    await asyncio.gather(*(cache.ensure([bench.component]) for cache in caches))
    assert bench.calls == ["build"]
    steps = [line.removeprefix("  ...  ") for line in bench.lines if line.startswith("  ...")]
    waiting = f"wait for process {os.getpid()}, which builds the same components"
    assert steps == ["build tool v1.0.0", waiting]


async def test_modules_of_the_next_component_are_fetched_during_a_build(bench: BuildBench) -> None:
    # The first build ends only once the second one's modules are asked for.
    bench.set_script(
        f'if [ "$1" = build ]; then until grep -q list {bench.calls_file}; do sleep 0.01; done; fi'
    )
    second = dataclasses.replace(bench.component, name="second")
    await bench.cache.ensure([bench.component, second])
    assert sorted(bench.calls) == ["build", "build", "list"]


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        pytest.param({}, "400 1GiB", id="not configured"),
        pytest.param({"GOGC": "50"}, "50 1GiB", id="the user's value takes precedence"),
    ],
)
async def test_the_compiler_collects_garbage_less_often_up_to_a_limit(
    bench: BuildBench, monkeypatch: pytest.MonkeyPatch, users: dict[str, str], expected: str
) -> None:
    for name in ("GOGC", "GOMEMLIMIT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in users.items():
        monkeypatch.setenv(name, value)
    bench.set_script(f'echo "$GOGC $GOMEMLIMIT" > {bench.folder}/memory')
    await bench.cache.ensure([bench.component])
    assert (bench.folder / "memory").read_text() == f"{expected}\n"


async def test_failed_build_shows_the_end_of_the_output_and_the_log(bench: BuildBench) -> None:
    bench.set_script('i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo "line $i"; done; exit 2')
    with pytest.raises(BuildFailed) as caught:
        await bench.cache.ensure([bench.component])
    log = bench.folder / "cache" / "logs" / "tool.log"
    shown = "\n".join(f"line {number}" for number in range(11, 31))
    assert str(caught.value) == (
        f"Building tool failed (go build, exit code 2). Its last output:\n\n{shown}\n\n"
        f"The whole output is in {log}."
    )
    assert log.read_text().startswith("line 1\n")
    assert list((bench.folder / "cache" / "bin").iterdir()) == []


async def test_a_download_that_fails_is_tried_again(
    bench: BuildBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localcluster.programs.build_cache._PAUSES", (0.0, 0.0))
    fails = "echo 'go: example.com/a@v1: Get \"https://proxy.example/a\": unexpected EOF'; exit 1"
    bench.set_script(f'if [ "$(wc -l < {bench.calls_file})" -lt 3 ]; then {fails}; fi')
    programs = await bench.cache.ensure([bench.component])
    assert programs["tool"].exists()
    assert bench.calls == ["build"] * 3


async def test_a_download_that_goes_on_failing_is_reported(
    bench: BuildBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localcluster.programs.build_cache._PAUSES", (0.0, 0.0))
    bench.set_script("echo 'reading https://sum.example/a: 502 Bad Gateway'; exit 1")
    with pytest.raises(BuildFailed, match="502 Bad Gateway"):
        await bench.cache.ensure([bench.component])
    with pytest.raises(BuildFailed, match="502 Bad Gateway"):
        await bench.cache.module_folder(bench.component)
    assert bench.calls == [*["build"] * 3, *["list"] * 3]


async def test_full_disk_during_a_build_leaves_nothing(bench: BuildBench) -> None:
    bench.set_script("echo 'write /x: no space left on device'; exit 1")
    with pytest.raises(DiskFull) as caught:
        await bench.cache.ensure([bench.component])
    assert str(caught.value).startswith("The disk became full while tool was being built.")
    assert list((bench.folder / "cache" / "bin").iterdir()) == []
    assert not (bench.folder / "cache" / "logs").exists()


async def test_component_larger_than_the_disk_is_refused_before_building(bench: BuildBench) -> None:
    huge = dataclasses.replace(bench.component, megabytes=10**9)
    with pytest.raises(DiskFull, match=r"^Keeping the programs \(tool\) needs about 1000000000 MB"):
        await bench.cache.ensure([huge])
    assert bench.calls == []


async def test_remains_of_a_killed_build_are_deleted_by_the_next(bench: BuildBench) -> None:
    leftover = bench.folder / "cache" / "bin" / ".building-older-0123" / "tmp"
    leftover.mkdir(parents=True)
    await bench.cache.ensure([bench.component])
    assert [each.name for each in (bench.folder / "cache" / "bin").iterdir()] == [bench.home.name]


async def test_module_folder_is_asked_once_and_again_when_it_is_gone(bench: BuildBench) -> None:
    assert await bench.cache.module_folder(bench.component) == bench.module
    assert await bench.new_cache().module_folder(bench.component) == bench.module
    assert bench.calls == ["list"]
    bench.module.rmdir()
    await bench.cache.module_folder(bench.component)
    assert bench.calls == ["list", "list"]


async def test_module_that_cannot_be_had_names_the_command(bench: BuildBench) -> None:
    bench.set_script("echo 'dial tcp: no route to host'; exit 1")
    with pytest.raises(BuildFailed) as caught:
        await bench.cache.module_folder(bench.component)
    assert str(caught.value) == (
        "The Go module example.com/tool cannot be had (`go list -m -mod=readonly -f {{.Dir}}"
        f" example.com/tool` in {bench.component.folder}): dial tcp: no route to host"
    )


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "tools.go"])
def test_hash_changes_with_every_file(bench: BuildBench, file: str) -> None:
    before = content_hash(bench.component, "go1.26.0")
    (bench.component.folder / file).write_text("require example.com/tool v2.0.0\n")
    assert content_hash(bench.component, "go1.26.0") != before


def test_hash_changes_with_a_program_that_is_written_here(bench: BuildBench) -> None:
    before = content_hash(bench.component, "go1.26.0")
    (bench.component.folder / "main.go").write_text("package main")
    assert content_hash(bench.component, "go1.26.0") != before


async def test_a_program_that_is_written_here_lies_in_its_own_folder(bench: BuildBench) -> None:
    component = dataclasses.replace(bench.component, module="")
    assert await bench.cache.module_folder(component) == component.folder
    await bench.cache.ensure([component])
    (done,) = [line for line in bench.lines if line.startswith("  ok ")]
    assert done.startswith("  ok   build tool: ")
    assert bench.calls == ["build"]


def test_hash_changes_with_toolchain_and_packages(bench: BuildBench) -> None:
    before = content_hash(bench.component, "go1.26.0")
    other = dataclasses.replace(bench.component, programs={"tool": "example.com/tool/else"})
    assert content_hash(bench.component, "go1.26.1") != before
    assert content_hash(other, "go1.26.0") != before


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        pytest.param({"XDG_CACHE_HOME": "/large"}, Path("/large"), id="configured"),
        pytest.param({}, Path.home() / ".cache", id="not configured"),
        pytest.param({"XDG_CACHE_HOME": ""}, Path.home() / ".cache", id="empty"),
        pytest.param({"XDG_CACHE_HOME": "here"}, Path.home() / ".cache", id="relative: ignored"),
    ],
)
def test_cache_folder(environment: dict[str, str], folder: Path) -> None:
    assert default_folder(environment) == folder / "appwrapper-localcluster"


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver"),
        ("go.etcd.io/etcd/server/v3", "server"),
        ("github.com/kubeflow/training-operator/cmd/training-operator.v1", "training-operator.v1"),
        ("example.com/vault", "vault"),
    ],
)
def test_default_program_name(package: str, name: str) -> None:
    assert default_program_name(package) == name
