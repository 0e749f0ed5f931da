import asyncio
import io
import re

import pytest

from localcluster.machine.progress import duration_text, reporter_for, step


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 0 s"),
     (185.0, "3 min 5 s")],
)  # fmt: skip
def test_duration_text(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_lines_are_printed() -> None:
    stream = io.StringIO()
    reporter = reporter_for(stream)
    for line in ("To build: etcd.", "  ...  build etcd"):
        reporter(line)
    assert stream.getvalue() == "To build: etcd.\n  ...  build etcd\n"


def test_a_terminal_that_is_gone_is_no_failure() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    reporter_for(Gone())("To build: etcd.")


async def test_step_reports_its_start_and_its_end() -> None:
    lines: list[str] = []
    async with step(lines.append, "build etcd"):
        assert lines == ["  ...  build etcd"]
    (end,) = lines[1:]
    assert end.startswith("  ok   build etcd: ")


@pytest.mark.parametrize(
    ("failure", "reported"),
    [
        (ValueError, "  FAIL build etcd: after"),
        (asyncio.CancelledError, "  --   build etcd: stopped after"),
    ],
)
async def test_step_that_fails_or_is_cancelled_is_reported(
    failure: type[BaseException], reported: str
) -> None:
    lines: list[str] = []
    with pytest.raises(failure):
        async with step(lines.append, "build etcd"):
            raise failure
    start, end = lines
    assert start == "  ...  build etcd"
    assert end.startswith(f"{reported} ")


async def test_long_step_reports_that_it_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localcluster.machine.progress.HEARTBEAT_SECONDS", 0)
    lines: list[str] = []
    twice = asyncio.Event()

    def report(line: str) -> None:
        lines.append(line)
        if len(lines) == 3:
            twice.set()

    async with step(report, "build etcd"):
        await twice.wait()
    for line in lines[1:3]:
        assert re.fullmatch(r"  \.\.\.  build etcd: still at it after \d\.\d s", line)
