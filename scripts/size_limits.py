"""Refuses modules over 400 lines and functions over 60.

Run as `python -m scripts.size_limits`; exits with 1 and one line per offender.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MODULE_LINES: Final = 400
FUNCTION_LINES: Final = 60


def offences(path: Path, source: str) -> Iterator[str]:
    """Yield the parts of one module that are too long, as `file:line: what`."""
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


def tracked_modules() -> list[Path]:
    """Return the Python files that git tracks or would track."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    output = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    return [path for line in output.splitlines() if (path := Path(line)).exists()]


def main() -> int:
    """Print every offence; any makes the exit code 1."""
    sources = {path: path.read_text() for path in tracked_modules()}
    found = [text for path, source in sources.items() for text in offences(path, source)]
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
