"""Sets time limits per kind of test, reports times, runs workers side by side, ends in order."""

from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

# pytest explains the assertions of builders and waits, too. This comes before their import.
pytest.register_assert_rewrite("tests.support", "tests.e2e", "tests.fuzz")

from localcluster.machine.slowness import stretched  # noqa: E402
from tests.support import orderly_end, side_by_side  # noqa: E402
from tests.support.cpu_clock import CpuClock  # noqa: E402
from tests.support.team import WORKER  # noqa: E402

# Seconds. A unit test needs nothing and waits for nothing. But on a busy machine one with many
# imports has taken more than ten, and an exceeded limit ends the process. Any other test may wait
# some times for PATIENCE_SECONDS.
TIME_LIMITS = {"unit": 300, "simulation": 300, "integration": 900, "e2e": 1800}
SHOWN_SECONDS = 1.0  # files that took less are counted together
_PARTS = (
    "unit",
    "simulation",
    "integration/shared",
    "integration/exclusive",
    "integration/nodes",
    "e2e",
)


def pytest_configure(config: pytest.Config) -> None:
    orderly_end.pytest_configure()
    if side_by_side.is_runner(config):
        config.pluginmanager.register(side_by_side.Runner(config))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Removes the worker from names: all workers must collect the same tests."""
    return val.removesuffix(f"-{WORKER}") if WORKER and isinstance(val, str) else None


def kind_of(path: Path) -> str:
    """Returns `unit`, `simulation`, `integration` or `e2e`: the folder below tests/."""
    return path.relative_to(Path(__file__).parent).parts[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if side_by_side.is_worker(config):
        side_by_side.longest_first(items)
    for item in items:
        found = item.get_closest_marker("timeout")
        limit = found or pytest.mark.timeout(TIME_LIMITS[kind_of(item.path)]).mark
        seconds, kwargs = stretched(limit.args[0]), limit.kwargs
        item.add_marker(pytest.mark.timeout(seconds, **kwargs), append=False)


_CLOCK = CpuClock()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    report.cpu = _CLOCK.since_last()  # type: ignore[attr-defined]
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints each file's wall and CPU time just above pytest's closing line."""
    wall: defaultdict[str, float] = defaultdict(float)
    cpu: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                wall[report.fspath] += report.duration
                cpu[report.fspath] += getattr(report, "cpu", 0.0)
    terminalreporter.section("seconds by the clock, and of CPU time, by file")
    # The first file that needs a cluster waits for its start.
    for file, seconds in sorted(wall.items(), key=lambda item: -item[1]):
        if seconds >= SHOWN_SECONDS:
            terminalreporter.write_line(f"{seconds:8.1f} {cpu[file]:8.1f}  {file}")
    for part in _PARTS:
        files = [file for file in wall if file.startswith(f"tests/{part}/")]
        if files:
            by_clock, of_cpu = (sum(times[file] for file in files) for times in (wall, cpu))
            what = f"all {len(files)} files of tests/{part}"
            terminalreporter.write_line(f"{by_clock:8.1f} {of_cpu:8.1f}  {what}")
    terminalreporter.write_line(f"CPU time by program: {_CLOCK.by_program() or 'below 1 s'}")
