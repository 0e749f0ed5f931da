"""What explain says of the failure that made the others happen."""

from datetime import timedelta
from typing import Any

from rich.console import Console

from cli.explaining.compose import explain
from cli.explaining.report import ExplainReport, RootCauseReport
from cli.explaining.text import render
from controller.facts.root_cause_status import encode
from controller.phases.root_cause import Confidence, Decision, RootCause, Source
from tests.support.builders.explained.deployed import unhealthy
from tests.support.builders.explained.ending import failed, retry_pause
from tests.support.builders.explained.objects import NOW

CAUSE = RootCause(
    pod="train-1",
    container="main",
    node="gpu-2",
    rank=3,
    time=(NOW - timedelta(seconds=50)).replace(microsecond=0),
    code="ValueError",
    origin="User",
    recoverable=False,
    exit_code=1,
    message="ValueError: bad shard\n  in shard 7",
    source=Source.STORE,
    confidence=Confidence.RECORDED,
    failed_pods=4,
    uri="s3://errors/1",
)


def after(seen: Any, cause: RootCause = CAUSE, attempt: int | None = None) -> ExplainReport:
    """The report with this in the status."""
    status = seen.appwrapper["status"]
    number = status["attempt"] if attempt is None else attempt
    status["rootCause"] = encode(cause, number, Decision.TERMINAL)
    return explain(seen)


def text(report: ExplainReport) -> str:
    console = Console(width=200, no_color=True)
    with console.capture() as captured:
        console.print(render(report))
    return captured.get()


def test_after_the_reset_the_status_shows_the_root_cause() -> None:
    report = after(retry_pause())
    assert report.root_cause == RootCauseReport(
        attempt=1,
        pod="train-1",
        outline="train-1 on gpu-2 failed first (rank 3, exit code 1)",
        node="gpu-2",
        container="main",
        rank=3,
        at=CAUSE.time,
        code="ValueError",
        origin="User",
        recoverable=False,
        exit_code=1,
        message="ValueError: bad shard\n  in shard 7",
        source="Store",
        confidence="Recorded",
        failed_pods=4,
        uri="s3://errors/1",
        decision="Terminal",
    )
    explanation = text(report).splitlines()
    first = explanation.index("What failed first")
    assert explanation[first + 1].startswith(
        "  train-1 on gpu-2 failed first (rank 3, exit code 1), at "
    )
    assert explanation[first + 2 : first + 6] == [
        "  ValueError: bad shard",
        "    in shard 7",
        "  The program recorded it as non-recoverable.",
        "  Full record: s3://errors/1",
    ]


def test_before_the_reset_the_pods_show_the_root_cause() -> None:
    """What the status has is of an earlier attempt."""
    found = after(unhealthy(), attempt=0).root_cause
    assert found is not None
    assert (found.pod, found.decision, found.source) == ("train-1-x7k2p", "None", "PodStatus")


def test_the_failure_of_an_earlier_attempt_is_shown_with_that_attempt() -> None:
    report = after(failed(), attempt=2)
    assert report.root_cause is None
    assert report.attempts[1].root_cause == ("train-1 r3: ValueError: bad shard (non-recoverable)")


def test_the_end_of_a_log_is_shown_and_what_was_left_out() -> None:
    log = "\n".join(f"line {number}" for number in range(20))
    cause = RootCause(pod="a", message=log, source=Source.LOG, failed_pods=2, code="OOMKilled")
    explanation = text(after(retry_pause(), cause))
    assert "  line 8\n" in explanation
    assert "  line 19\n" in explanation
    assert "line 7\n" not in explanation
    assert "(8 more lines in status.rootCause.message)" in explanation
    assert "raise the limit, or let it use less." in explanation
    assert (
        "This is inferred from the pods' statuses, whose times have whole seconds." in explanation
    )
