"""Refuses machine-specific text in tracked files: home folders, package index addresses.

The product must build on any machine and from any mirror, so lock files name no index, and no file
names a folder of its author's machine. Run as `python -m scripts.tracked_files`.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Split, so that this file does not match itself.
FORBIDDEN = {
    "a machine path": re.compile(r"(?<![\w.-])/(?:root|work|home/\w+|Users/\w+)/\w"),
    "a package index's address": re.compile(
        r"https?://[\w.-]*(?:py" + r"pi\.org|pythonhosted\.org|proxy\.go" + r"lang\.org|npmjs\.org)"
    ),
    "a package index option": re.compile(r"^--(?:extra-)?index-url|^--find-links", re.MULTILINE),
}


def offences(path: Path, text: str) -> Iterator[str]:
    """Yield the forbidden texts of one file, as `file:line: what`."""
    for what, pattern in FORBIDDEN.items():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {what}: {match.group(0)}"


def tracked_texts() -> Iterator[tuple[Path, str]]:
    """Yield the text files that git tracks or would track, with their content."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        path = Path(line)
        if path.is_file():
            yield path, path.read_text(encoding="utf-8", errors="replace")


def main() -> int:
    """Print every offence; any makes the exit code 1."""
    found = [text for path, content in tracked_texts() for text in offences(path, content)]
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
