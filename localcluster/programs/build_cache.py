"""Builds the components' programs once per user and keeps them, by the hash of their inputs.

CACHE/bin/COMPONENT-HASH/PROGRAM     complete, or absent: renamed when it is built
CACHE/bin/.building-COMPONENT-HASH/  a build in progress; the next build removes a killed one
CACHE/modules/HASH.json              the folder of the component's Go module on this machine
CACHE/logs/COMPONENT.log             what a failed build printed
"""

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from localcluster.machine.child import Child, captured
from localcluster.machine.disk import is_full, require_free, says_full
from localcluster.machine.errors import BuildFailed, DiskFull
from localcluster.machine.files import replace
from localcluster.machine.locks import FileLock
from localcluster.machine.progress import Reporter, step
from localcluster.programs.catalogue import GoComponent
from localcluster.programs.toolchain import Go

_LEAST_FOR_GO_CACHES = 1_500  # megabytes; below this no first build of anything succeeds
_SHOWN_LINES = 20
# By default the compiler spends a tenth of its time on garbage collection.
_MEMORY_FOR_TIME = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}
_SOURCES = (".mod", ".sum", ".go")
# Go itself does not try again. The pauses, in seconds, before each further try of a download.
_PAUSES = (5.0, 20.0, 60.0)
_DOWNLOAD = re.compile(r'\b(?:Get|Head|read|reading) \\?"?https?://')
_FREE_SPACE = "Free some space, or set XDG_CACHE_HOME to a folder on a larger disk."


def default_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the user's cache folder, by the XDG base directory specification."""
    configured = environment.get("XDG_CACHE_HOME", "")
    caches = Path(configured) if configured.startswith("/") else Path.home() / ".cache"
    return caches / "appwrapper-localcluster"


def content_hash(component: GoComponent, go_version: str) -> str:
    """Changes whenever the programs would."""
    digest = hashlib.sha256()
    sources = [path for path in component.folder.iterdir() if path.suffix in _SOURCES]
    for path in sorted(sources):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    digest.update(orjson.dumps([component.programs, component.build_flags, go_version]))
    return digest.hexdigest()[:16]


class BuildCache:
    """Builds the components' programs that are missing."""

    def __init__(self, folder: Path, go: Go, reporter: Reporter) -> None:
        self._folder = folder
        self._go = go
        self._reporter = reporter

    async def ensure(self, components: Sequence[GoComponent]) -> dict[str, Path]:
        """Returns the programs of `components`, by name. Raises BuildFailed, DiskFull."""
        missing = [component for component in components if not self._home(component).is_dir()]
        if missing:
            try:
                await self._build_all(missing)
            except OSError as failure:
                if not is_full(failure):
                    raise
                raise DiskFull(
                    f"The disk is full: {failure.strerror} at {failure.filename or self._folder}."
                    f" {_FREE_SPACE}"
                ) from failure
        return {
            program: self._home(component) / program
            for component in components
            for program in component.programs
        }

    async def module_folder(self, component: GoComponent) -> Path:
        """Returns the folder of the component's Go module, which has its manifests.

        Raises BuildFailed if it cannot be downloaded.
        """
        if not component.module:
            return component.folder
        memory = self._folder / "modules" / f"{content_hash(component, self._go.version)}.json"
        remembered = _remembered(memory)
        if remembered is not None:
            return remembered
        found = await self._find_module(component)
        memory.parent.mkdir(parents=True, exist_ok=True)
        # Not private: after `sudo -E` the user reads what root has built.
        replace(memory, orjson.dumps(str(found)))
        return found

    def _home(self, component: GoComponent) -> Path:
        key = content_hash(component, self._go.version)
        return self._folder / "bin" / f"{component.name}-{key}"

    async def _build_all(self, missing: Sequence[GoComponent]) -> None:
        (self._folder / "bin").mkdir(parents=True, exist_ok=True)
        # A second run waits, and then finds everything built.
        path, activity = self._folder / "build.lock", "builds the same components"
        lock = await FileLock.take_visibly(path, self._reporter, activity)
        try:
            for leftover in (self._folder / "bin").glob(".building-*"):
                shutil.rmtree(leftover)
            missing = [each for each in missing if not self._home(each).is_dir()]
            if missing:
                self._announce(missing)
                await self._build_each(missing)
        finally:
            lock.release()

    async def _build_each(self, missing: Sequence[GoComponent]) -> None:
        # A compiler keeps the processors busy and a download does not: fetch while compiling.
        fetching = asyncio.create_task(self._fetch_modules(missing[1:]))
        try:
            for component in missing:
                name = f"build {component.name} {component.version}".rstrip()
                async with step(self._reporter, name):
                    await self._build(component)
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)

    async def _fetch_modules(self, components: Sequence[GoComponent]) -> None:
        """Downloads the modules of the next builds. The builds report a failure."""
        for component in components:
            packages = component.programs.values()
            await captured(
                (str(self._go.path), "list", *component.list_flags, "-deps", *packages),
                environment=self._environment(),
                folder=component.folder,
            )

    def _announce(self, missing: Sequence[GoComponent]) -> None:
        minutes = sum(component.minutes for component in missing)
        names = ", ".join(component.name for component in missing)
        self._reporter(
            f"To build: {names}. On two cores this takes up to {max(1, round(minutes))} min the"
            " first time, and Go's caches grow to about 16 GB once every component was built."
            " Later starts reuse all of it.",
        )
        programs = sum(component.megabytes for component in missing)
        require_free(self._folder, programs, f"Keeping the programs ({names})", _FREE_SPACE)
        for cache, variable in (
            (self._go.build_cache, "GOCACHE"),
            (self._go.module_cache, "GOMODCACHE"),
        ):
            remedy = f"Free some space, or set {variable} to a folder on a larger disk."
            require_free(cache, _LEAST_FOR_GO_CACHES, "Building", remedy)

    async def _build(self, component: GoComponent) -> None:
        home = self._home(component)
        draft = home.with_name(f".building-{home.name}")
        try:
            output = draft / "programs"
            for folder in (output, draft / "tmp"):
                folder.mkdir(parents=True, exist_ok=True)
            for pause in (*_PAUSES, None):
                code, printed = await self._compile(component, output, draft / "tmp")
                if code == 0:
                    break
                if pause is None or not _DOWNLOAD.search(printed):
                    raise _failure(component, printed, self._folder / "logs", code)
                self._reporter(f"{component.name}: a download failed; it is tried again.")
                await asyncio.sleep(pause)
            for program, package in component.programs.items():
                built = output / default_program_name(package)
                built.rename(output / program)
            output.rename(home)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    async def _compile(
        self, component: GoComponent, output: Path, scratch: Path
    ) -> tuple[int, str]:
        """Return the exit code of `go build` and what it printed, also on a full disk."""
        command = [str(self._go.path), "build", *component.build_flags, "-o", f"{output}/"]
        command += component.programs.values()
        # Go's own scratch folder is inside this one: a killed build leaves nothing elsewhere.
        environment = self._environment() | {"GOTMPDIR": str(scratch)}
        with os.fdopen(os.memfd_create("go build"), "w+b") as printed:
            build = Child(
                command,
                output=printed,
                environment=environment,
                folder=component.folder,
                own_group=True,
            )
            try:
                code = await build.wait()
            finally:
                if build.exit_code is None:
                    build.kill_now()
            printed.seek(0)
            return code, printed.read().decode(errors="replace")

    async def _find_module(self, component: GoComponent) -> Path:
        for command in (
            ("list", "-m", "-mod=readonly", "-f", "{{.Dir}}", component.module),
            ("mod", "download", "-json", f"{component.module}@{component.version}"),
        ):
            for pause in (*_PAUSES, None):
                code, output = await captured(
                    (str(self._go.path), *command),
                    environment=self._environment(),
                    folder=component.folder,
                )
                if code == 0 or pause is None or not _DOWNLOAD.search(output):
                    break
                await asyncio.sleep(pause)
            if code != 0:
                raise BuildFailed(
                    f"The Go module {component.module} cannot be had"
                    f" (`go {' '.join(command)}` in {component.folder}): {output.strip()}"
                )
            answer = output.strip()
            found = orjson.loads(answer)["Dir"] if answer.startswith("{") else answer
            if found:
                return Path(found)
        raise BuildFailed(f"Go does not report the folder of the module {component.module}.")

    def _environment(self) -> dict[str, str]:
        # A go.work above this checkout would change the result; cgo would need a C compiler.
        return _MEMORY_FOR_TIME | dict(os.environ) | {"CGO_ENABLED": "0", "GOWORK": "off"}


def default_program_name(package: str) -> str:
    """Returns the program name of `go build`: the last element that is no major version."""
    *rest, last = package.split("/")
    is_version = last[:1] == "v" and last[1:].isdigit()
    return rest[-1] if is_version else last


def _remembered(memory: Path) -> Path | None:
    """Returns the folder in the file, if it still exists."""
    if not memory.exists():
        return None
    folder = Path(orjson.loads(memory.read_bytes()))
    return folder if folder.is_dir() else None


def _failure(component: GoComponent, output: str, logs: Path, code: int) -> BuildFailed | DiskFull:
    if says_full(output):
        return DiskFull(
            f"The disk became full while {component.name} was being built. {_FREE_SPACE}"
            " The compiler's files are in GOCACHE, GOMODCACHE and the folder for temporary files."
        )
    logs.mkdir(exist_ok=True)
    log = logs / f"{component.name}.log"
    log.write_text(output)
    last = "\n".join(output.rstrip().splitlines()[-_SHOWN_LINES:])
    return BuildFailed(
        f"Building {component.name} failed (go build, exit code {code}). Its last output:\n\n"
        f"{last}\n\nThe whole output is in {log}."
    )
