"""Refuses modules of tests/ that import a test module: tests share code through tests/support.

Run as `python -m scripts.imported_tests`; exits with 1 and one line per offender.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.size_limits import tracked_modules


def offences(path: Path, source: str) -> Iterator[str]:
    """Yield the test modules that one module imports, as `file:line: what`."""
    for node in ast.walk(ast.parse(source)):
        for line, name in _imported(node):
            if any(part.startswith("test_") for part in name.split(".")):
                yield (
                    f"{path}:{line}: imports {name}, a test module; "
                    "what tests share is in tests/support"
                )


def _imported(node: ast.AST) -> list[tuple[int, str]]:
    """Return what a statement imports from tests, each with its line."""
    match node:
        case ast.Import(names):
            return [(node.lineno, each.name) for each in names if each.name.startswith("tests.")]
        case ast.ImportFrom(module, names, level):
            modules = f"{module or ''}.".removeprefix(".")
            if level or modules.startswith("tests."):
                return [(node.lineno, modules + each.name) for each in names]
    return []


def main() -> int:
    """Print every offence; any makes the exit code 1."""
    modules = [path for path in tracked_modules() if path.parts[0] == "tests"]
    found = [text for path in modules for text in offences(path, path.read_text())]
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
