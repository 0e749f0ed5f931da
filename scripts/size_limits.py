"""Refuses modules over 400 lines, functions over 60, and a product of too many tiny modules.

Run as `python -m scripts.size_limits`; exits with 1 and one line per offender.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Final

MODULE_LINES: Final = 400
FUNCTION_LINES: Final = 60
# The least median of the product's modules. Packages' own files do not count.
MEDIAN_LINES: Final = 100
PRODUCT: Final = ("cli", "controller", "shared", "webhook", "worker")


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


def splinters(lines: Mapping[Path, int]) -> Iterator[str]:
    """Yield a line if half of the product's modules, by their lines, are too small."""
    of_the_product = [
        number
        for path, number in lines.items()
        if path.parts[0] in PRODUCT and path.name != "__init__.py"
    ]
    if of_the_product and median(of_the_product) < MEDIAN_LINES:
        yield (
            f"the median module of {', '.join(PRODUCT)} has {median(of_the_product):g} lines, "
            f"and {MEDIAN_LINES} are the least: merge what is read together"
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
    found += splinters({path: source.count("\n") for path, source in sources.items()})
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
