"""Refuses unit tests that are not beside a module of their name.

The tests of `controller/apply/status.py` are `tests/unit/controller/apply/test_status.py` and
`test_status_TOPIC.py`; those of a package `controller/apply` are `test_apply.py` beside it. Run as
`python -m scripts.misplaced_tests`; exits with 1 and one line per offender.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.size_limits import tracked_modules

_UNIT: Final = Path("tests/unit")
# Their tests read pages and manifests, not modules.
_WITHOUT_MODULES: Final = ("deploy", "docs", "samples")


def module_of(test: Path, root: Path = Path()) -> Path | None:
    """Return the module or package that a unit test is named after; None if none exists."""
    folder = test.relative_to(_UNIT).parent
    if folder.parts[:1] == ("support",):
        folder = Path("tests") / folder
    words = test.stem.split("_")[1:]
    for end in range(len(words), 0, -1):
        module = folder / "_".join(words[:end])
        if (root / module).is_dir():
            return module
        if (root / module).with_suffix(".py").is_file():
            return module.with_suffix(".py")
    return None


def offences(paths: list[Path], root: Path = Path()) -> Iterator[str]:
    """Yield the unit tests without a module, as `file: what to do`."""
    for path in paths:
        if not path.is_relative_to(_UNIT) or not path.name.startswith("test_"):
            continue
        room = path.relative_to(_UNIT).parts[0]
        if room not in _WITHOUT_MODULES and module_of(path, root) is None:
            yield (
                f"{path}: no module of this name; "
                ""
                "name the file test_MODULE.py or test_MODULE_TOPIC.py, in the folder of the module"
            )


def main() -> int:
    """Print every offence; any makes the exit code 1."""
    found = list(offences(tracked_modules()))
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
