"""Try mutants in copies of the tree, and keep the verdicts."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from scripts.mutants.plan import (
    BadMutant,
    Mutant,
    Stage,
    digest,
    is_about_tests,
    is_test_module,
    mutated,
    stages,
)
from scripts.mutants.report import Verdict

_PASSED: Final = 0
_NO_TESTS: Final = 5
PYTEST: Final = (sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider")
# The first line of pytest's summary that names a test; its parameters are dropped.
_NAMED: Final = re.compile(r"^(?:FAILED|ERROR) (?P<test>tests/[\w/]+\.py(?:::\w+)*)", re.MULTILINE)
# pytest-timeout ends the process, so there is no summary.
_ENDLESS: Final = re.compile(r"^\++ Timeout \++$", re.MULTILINE)


class Tree:
    """The unchanged files of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(listing, cwd=root, check=True, capture_output=True, text=True)
        self.files = [path for path in done.stdout.splitlines() if (root / path).is_file()]
        self._tests = {path: self.read(path) for path in self.files if is_about_tests(path)}
        self.modules = frozenset(filter(is_test_module, self._tests))

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def mutated(self, mutant: Mutant) -> dict[str, str]:
        """Return the changed files by path. Raises BadMutant."""
        for edit in mutant.edits:
            if edit.file not in self.files:
                raise BadMutant(f"{mutant.name}: there is no file {edit.file}")
        return mutated(mutant, lambda path: self.read(path).decode())

    def digest(self, mutant: Mutant, killer: str | None) -> str:
        """Return the hash of all that a verdict depends on. Raises BadMutant."""
        changed = self.mutated(mutant)
        if killer is None:
            return digest(changed, (mutant.tests, sorted(self._tests.items())))
        return digest(changed, self._tests.get(killer.partition("::")[0], b""))


class Copy:
    """A copy of the tree, in which one mutant at a time is tried."""

    def __init__(self, tree: Tree, folder: Path, pytest: Sequence[str]) -> None:
        self._tree = tree
        self._folder = folder
        self._pytest = pytest
        for path in tree.files:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(tree.root / path, target)

    async def attempt(self, mutant: Mutant) -> Verdict:
        """Run the tests of a mutant until one fails. Raises BadMutant if pytest cannot run."""
        began = time.monotonic()
        changed = self._tree.mutated(mutant)
        for path, text in changed.items():
            self._write(path, text.encode())
        try:
            killer = await self._killer(mutant)
        finally:
            for path in changed:
                self._write(path, self._tree.read(path))
        return Verdict(killer, time.monotonic() - began, self._tree.digest(mutant, killer))

    async def first_failure(self, stage: Stage, subject: str) -> str | None:
        """Return the first test that fails; None if all pass. Raises BadMutant."""
        ignored = [f"--ignore={path}" for path in stage.tried]
        process = await asyncio.create_subprocess_exec(
            *(*self._pytest, *ignored, *stage.paths),
            cwd=self._folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output = (await process.communicate())[0].decode(errors="replace")
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if process.returncode in (_PASSED, _NO_TESTS):
            return None
        if named := _NAMED.search(output):
            return named["test"]
        if _ENDLESS.search(output):
            return f"{stage.paths[0]}, a test of which does not end"
        raise BadMutant(f"{subject}: pytest ended with {process.returncode}:\n{output[-2000:]}")

    async def _killer(self, mutant: Mutant) -> str | None:
        for stage in stages(mutant, self._tree.modules):
            if (killer := await self.first_failure(stage, mutant.name)) is not None:
                return killer
        return None

    def _write(self, path: str, content: bytes) -> None:
        """Write a file. Its compiled form may have the same time and size, so it is removed."""
        target = self._folder / path
        target.write_bytes(content)
        Path(cache_from_source(str(target))).unlink(missing_ok=True)


def load(path: Path) -> dict[str, Verdict]:
    """Read the verdicts of earlier runs."""
    if not path.is_file():
        return {}
    return {name: Verdict(**entry) for name, entry in json.loads(path.read_text()).items()}


def save(path: Path, verdicts: Mapping[str, Verdict]) -> None:
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({name: asdict(each) for name, each in verdicts.items()}, indent=1))
    new.replace(path)


async def try_all(
    tree: Tree,
    mutants: Sequence[Mutant],
    workers: int,
    report: Callable[[Mutant, Verdict], None],
    pytest: Sequence[str] = PYTEST,
) -> str | None:
    """Try the mutants in `workers` copies at once, and report each verdict. Raises BadMutant.

    Then run all tests that killed a mutant on the unchanged tree, and return the first that fails
    there, too: such a test kills every mutant.
    """
    waiting, killers = list(reversed(mutants)), set[str]()

    async def work(copy: Copy) -> None:
        while waiting:
            mutant = waiting.pop()
            verdict = await copy.attempt(mutant)
            killers.update([verdict.killer] if verdict.killer else [])
            report(mutant, verdict)

    with TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Copy(tree, Path(folder) / str(number), pytest) for number in range(workers)]
        try:
            async with asyncio.TaskGroup() as group:
                for copy in copies:
                    group.create_task(work(copy))
        except* BadMutant as bad:
            raise bad.exceptions[0] from None
        again = tuple(sorted(killer for killer in killers if "::" in killer))
        return await copies[0].first_failure(Stage(again), "the unchanged tree") if again else None
