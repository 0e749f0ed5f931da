import asyncio
import io

import pytest

from localcluster.machine.progress import (
    Event,
    StepStage,
    duration_text,
    line_of,
    reporter_for,
    step,
)

EVENTS = [
    Event(StepStage.MESSAGE, text="To build: etcd."),
    Event(StepStage.STARTED, "build etcd"),
    Event(StepStage.RUNNING, "build etcd", 15.0),
    Event(StepStage.DONE, "build etcd", 21.4),
    Event(StepStage.FAILED, "start etcd", 0.25),
    Event(StepStage.STOPPED, "start kueue", 3.0),
]
LINES = [
    "To build: etcd.",
    "  ...  build etcd",
    "  ...  build etcd: still at it after 15 s",
    "  ok   build etcd: 21 s",
    "  FAIL start etcd: after 0.2 s",
    "  --   start kueue: stopped after 3.0 s",
]


def test_lines() -> None:
    assert [line_of(event) for event in EVENTS] == LINES
    stream = io.StringIO()
    for event in EVENTS:
        reporter_for(stream)(event)
    assert stream.getvalue().splitlines() == LINES


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 0 s"),
     (185.0, "3 min 5 s")],
)  # fmt: skip
def test_duration_text(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_terminal_that_is_gone_is_no_failure() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    reporter_for(Gone())(EVENTS[0])


async def test_step_reports_its_start_and_its_end() -> None:
    events: list[Event] = []
    async with step(events.append, "build etcd"):
        assert events == [Event(StepStage.STARTED, "build etcd")]
    assert [(event.stage, event.step) for event in events[1:]] == [(StepStage.DONE, "build etcd")]


async def test_step_that_fails_or_is_cancelled_is_reported() -> None:
    events: list[Event] = []
    for failure in (ValueError, asyncio.CancelledError):
        with pytest.raises(failure):
            async with step(events.append, "build etcd"):
                raise failure
    assert [event.stage for event in events] == [
        StepStage.STARTED,
        StepStage.FAILED,
        StepStage.STARTED,
        StepStage.STOPPED,
    ]


async def test_long_step_reports_that_it_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localcluster.machine.progress.HEARTBEAT_SECONDS", 0)
    events: list[Event] = []
    twice = asyncio.Event()

    def report(event: Event) -> None:
        events.append(event)
        if len(events) == 3:
            twice.set()

    async with step(report, "build etcd"):
        await twice.wait()
    assert [event.stage for event in events[1:3]] == [StepStage.RUNNING, StepStage.RUNNING]
