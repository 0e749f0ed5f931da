"""Read tests/mutants.toml, apply mutants, and choose the tests of each. Pure."""

import hashlib
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Final

from pydantic import BaseModel, Field, ValidationError

SIMULATION: Final = "tests/simulation"
# Every program imports shared/, so the tests of any of them may notice a fault there.
_USERS_OF_SHARED: Final = ("tests/unit/controller", "tests/unit/webhook", "tests/unit/cli")
# Files that decide what the tests of mutants do.
_TESTS: Final = ("tests/unit/", "tests/support/", f"{SIMULATION}/")
_SET_UP: Final = ("pyproject.toml", "requirements-dev.lock", "tests/conftest.py")


class BadMutant(ValueError):
    """A mutant that cannot be tried. The message names it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """`new` in place of `old`, which `file` contains exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One plausible fault of the product.

    `fault`: the mistake that it imitates. `edits`: its own edit, then those of the mutants that it
    is combined with. `tests`: pytest arguments to try first. `equivalent`: why no test can notice
    it.
    """

    name: str
    fault: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...] = ()
    equivalent: str = ""

    @property
    def file(self) -> str:
        return self.edits[0].file


class _Entry(BaseModel, extra="forbid"):
    """One entry of the list, as docs/maintainers/mutants.md describes it."""

    name: str
    fault: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""
    combined: tuple[str, ...] = Field((), alias="with")


def read(text: str) -> list[Mutant]:
    """Read the list of mutants. Raises BadMutant."""
    mutants: dict[str, Mutant] = {}
    for each in tomllib.loads(text).get("mutant", []):
        name = each.get("name", "a mutant without a name")
        if name in mutants:
            raise BadMutant(f"{name}: two mutants have this name")
        try:
            entry = _Entry(**each)
        except ValidationError as invalid:
            first = invalid.errors()[0]
            raise BadMutant(f"{name}: {first['loc'][0]}: {first['msg']}") from None
        edits = [Edit(entry.file, entry.old, entry.new)]
        for other in entry.combined:
            if other not in mutants:
                raise BadMutant(f"{name}: no mutant above it is named {other}")
            edits += mutants[other].edits
        mutants[name] = Mutant(name, entry.fault, tuple(edits), entry.tests, entry.equivalent)
    return list(mutants.values())


def chosen(mutants: Iterable[Mutant], pattern: str) -> list[Mutant]:
    """Return the mutants whose name or file matches a shell pattern. Raises BadMutant if none."""
    found = [each for each in mutants if fnmatch(each.name, pattern) or fnmatch(each.file, pattern)]
    if not found:
        raise BadMutant(f"{pattern}: no mutant has this name or file")
    return found


def mutated(mutant: Mutant, source_of: Callable[[str], str]) -> dict[str, str]:
    """Return the changed files by path. Raises BadMutant if an edit does not fit its file."""
    changed: dict[str, str] = {}
    for edit in mutant.edits:
        source = changed.get(edit.file) or source_of(edit.file)
        count = source.count(edit.old)
        if count != 1:
            raise BadMutant(
                f"{mutant.name}: {edit.file} contains its old text {count} times, not once: "
                "write the fault for today's code in tests/mutants.toml"
            )
        text = source.replace(edit.old, edit.new)
        if text == source:
            raise BadMutant(f"{mutant.name}: its new text is its old text")
        try:
            compile(text, edit.file, "exec")
        except SyntaxError as error:
            raise BadMutant(f"{mutant.name}: {edit.file} is no longer Python: {error}") from error
        changed[edit.file] = text
    return changed


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of pytest: its paths, and the paths below them that an earlier stage tried."""

    paths: tuple[str, ...]
    tried: tuple[str, ...] = ()


def stages(mutant: Mutant, modules: Collection[str]) -> Iterator[Stage]:
    """Yield the runs of pytest for a mutant, the narrowest first.

    `modules`: the paths of all test modules.
    """
    module = PurePosixPath(mutant.file)
    folder, top = str("tests/unit" / module.parent), module.parts[0]
    beside = [path for path in sorted(modules) if _is_beside(path, folder, module.stem)]
    wider = [mutant.tests, beside, [folder], [f"tests/unit/{top}"]]
    if top == "shared":
        wider.append(_USERS_OF_SHARED)
    wider.append(_worlds_among(modules))
    tried: list[str] = []
    for paths in wider:
        new = tuple(path for path in paths if path not in tried and _exists(path, modules))
        if new:
            yield Stage(new, tuple(path for path in tried if path.startswith(new)))
            tried += [path for path in new if "::" not in path]


def _is_beside(path: str, folder: str, stem: str) -> bool:
    parent, _, name = path.rpartition("/")
    return parent == folder and name.startswith((f"test_{stem}.", f"test_{stem}_"))


def _exists(path: str, modules: Collection[str]) -> bool:
    file = path.partition("::")[0]
    return file in modules or any(each.startswith(f"{file}/") for each in modules)


def digest(changed: Mapping[str, str], tests: object) -> str:
    """Return the hash of the mutated files and of the tests that a verdict depends on."""
    return hashlib.sha256(repr((sorted(changed.items()), tests)).encode()).hexdigest()


def is_about_tests(path: str) -> bool:
    """True for files that decide which tests a mutant meets, and what they do."""
    return path.startswith(_TESTS) or path in _SET_UP


def is_test_module(path: str) -> bool:
    return PurePosixPath(path).name.startswith("test_")


def _worlds_among(modules: Iterable[str]) -> list[str]:
    """Return the tests that run the product in the simulation, not those of the simulation."""
    return [path for path in sorted(modules) if path.rpartition("/")[0] == SIMULATION]
