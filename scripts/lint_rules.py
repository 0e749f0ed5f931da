"""The rules of `make lint` that no linter knows: `python -m scripts.lint_rules`.

- A module has at most 400 lines, a function at most 60.
- No file names a folder of its author's machine or a package index: the product builds on any
  machine and from any mirror.
- No two modules of the product define a public class of one name.
- No test module is imported: tests share code through tests/support.
- A unit test is beside its module: the tests of `controller/apply/status.py` are
  `tests/unit/controller/apply/test_status.py` and `test_status_TOPIC.py`; those of a package
  `controller/apply` are `test_apply.py` beside it.
- Texts, pages, docstrings, comments and tests' names are plain English: plain_words.toml.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from scripts import plain_words

MODULE_LINES: Final = 400
FUNCTION_LINES: Final = 60
_UNIT: Final = Path("tests/unit")
_PRODUCT: Final = ("bench", "cli", "controller", "localcluster", "scripts", "shared", "webhook")
# Their tests read pages and manifests, not modules.
_WITHOUT_MODULES: Final = (("deploy",), ("docs",), ("samples",))
# Split, so that this file does not match itself.
_FORBIDDEN: Final = {
    "a machine path": re.compile(r"(?<![\w.-])/(?:root|work|home/\w+|Users/\w+)/\w"),
    "a package index's address": re.compile(
        r"https?://[\w.-]*(?:py" + r"pi\.org|pythonhosted\.org|proxy\.go" + r"lang\.org|npmjs\.org)"
    ),
    "a package index option": re.compile(r"^--(?:extra-)?index-url|^--find-links", re.MULTILINE),
}


def tracked() -> Iterator[tuple[Path, str]]:
    """Yield the files that git tracks or would track, each with its text."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    for path in map(Path, output.splitlines()):
        if path.is_file():
            yield path, path.read_text(encoding="utf-8", errors="replace")


def offences(path: Path, text: str, root: Path = Path()) -> Iterator[str]:
    """Yield what one file must not have, as `file:line: what`."""
    yield from machine_specific(path, text)
    if path.suffix == ".py":
        yield from too_long(path, text)
        if path.parts[0] == "tests":
            yield from imported_tests(path, text)
        yield from misplaced_test(path, root)
    yield from plain_words.offences(str(path), text)


def machine_specific(path: Path, text: str) -> Iterator[str]:
    """Yield paths of a machine, and addresses and options of package indexes."""
    for what, pattern in _FORBIDDEN.items():
        for match in pattern.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group()}"


def too_long(path: Path, source: str) -> Iterator[str]:
    """Yield a module or functions over the limit."""
    lines = source.count("\n")
    if lines > MODULE_LINES:
        yield f"{path}:1: module has {lines} lines, the limit is {MODULE_LINES}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield (
                    f"{path}:{node.lineno}: function {node.name} has {length} lines, "
                    f"the limit is {FUNCTION_LINES}"
                )


def repeated_classes(files: Iterable[tuple[Path, str]]) -> Iterator[str]:
    """Yield public classes of the product whose name another module's class has, too."""
    first: dict[str, Path] = {}
    for path, source in files:
        if path.suffix != ".py" or path.parts[0] not in _PRODUCT:
            continue
        for node in ast.parse(source).body:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            if (other := first.setdefault(node.name, path)) != path:
                yield f"{path}:{node.lineno}: {other} defines a class {node.name}, too"


_IMPORT: Final = re.compile(r"(?:import tests\.|from (?:tests\b|\.)).*?\b(test_\w+)")


def imported_tests(path: Path, source: str) -> Iterator[str]:
    """Yield the test modules that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom) and (
            match := _IMPORT.match(ast.unparse(node))
        ):
            yield (
                f"{path}:{node.lineno}: imports {match[1]}, a test module; "
                "what tests share is in tests/support"
            )


def misplaced_test(path: Path, root: Path) -> Iterator[str]:
    """Yield a unit test that has no module of its name."""
    if not path.is_relative_to(_UNIT) or not path.name.startswith("test_"):
        return
    folder = path.relative_to(_UNIT).parent
    if folder.parts[:1] == ("support",):
        folder = Path("tests") / folder
    words = path.stem.split("_")[1:]
    modules = (root / folder / "_".join(words[:end]) for end in range(len(words), 0, -1))
    if folder.parts[:1] not in _WITHOUT_MODULES and not any(
        module.is_dir() or module.with_suffix(".py").is_file() for module in modules
    ):
        yield (
            f"{path}:1: no module of this name; "
            "name the file test_MODULE.py or test_MODULE_TOPIC.py, in the folder of the module"
        )


def main() -> int:
    """Print every offence; any makes the exit code 1."""
    files = list(tracked())
    found = [line for path, text in files for line in offences(path, text)]
    found += repeated_classes(files)
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
