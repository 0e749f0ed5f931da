"""Time limits per kind of test, and what each part of a run took, and an orderly end."""

import os
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support import orderly_end

# Seconds. A unit test needs nothing and waits for nothing; but on a busy machine one that imports
# much has taken more than ten, and a limit that strikes ends the whole run.
TIME_LIMITS = {"unit": 60, "integration": 300, "e2e": 300}
SLOWEST_FILES = 20  # how many of them the summary names


def pytest_configure() -> None:
    orderly_end.pytest_configure()


def kind_of(path: Path) -> str:
    """`unit`, `integration` or `e2e`: the folder below tests/."""
    return path.relative_to(Path(__file__).parent).parts[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIME_LIMITS[kind_of(item.path)]))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the parts' durations just above pytest's closing line."""
    took: defaultdict[str, float] = defaultdict(float)
    files: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took[report.fspath.split("/")[1]] += report.duration
                files[report.fspath] += report.duration
    terminalreporter.section("what each part took")
    for line in filter(None, os.environ.get("TEST_PARTS_TOOK", "").splitlines()):
        terminalreporter.write_line(line)
    for kind, seconds in sorted(took.items()):
        terminalreporter.write_line(f"{kind} tests: {seconds:.0f} s")
    # The first file that needs a cluster pays for its start.
    for file, seconds in sorted(files.items(), key=lambda item: -item[1])[:SLOWEST_FILES]:
        if seconds >= 60:
            terminalreporter.write_line(f"  {file}: {seconds:.0f} s")
