"""The line for accounting: the page for admins shows a real one."""

import json
import logging
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.apply.accounting import log_end
from controller.phases.actions import MoveTo
from controller.phases.phase import Phase
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.process.logs import JsonLines
from tests.support.builders.appwrappers import with_quota_seconds
from tests.support.builders.explained.objects import NOW, UID, appwrapper, condition
from tests.support.manifests import ROOT

PAGE = ROOT / "docs" / "admins" / "accounting.md"
GPUS = frozenset({"nvidia.com/gpu"})
FAIL = MoveTo(Phase.FAILED, Reason.FAILED_PODS, "secrets of the user")
SUCCEED = MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED)
TERMINATE = MoveTo(Phase.TERMINATING, Reason.TERMINATING)
RESERVED = condition("QuotaReserved", "True", "Resuming", seconds=3600)
METADATA = {
    "creationTimestamp": "2026-03-02T11:00:00Z",
    "labels": {
        "kueue.x-k8s.io/queue-name": "default-queue",
        "workload.codeflare.dev/user": "alice_example.com",
    },
    "annotations": {"workload.codeflare.dev/submitted-by": "alice@example.com"},
}


def made(
    phase: str, *conditions: Any, quota_seconds: int | None = 1800, **fields: Any
) -> AppWrapper:
    known: dict[str, Any] = {"attempt": 4, "retries": 3, "metadata": METADATA}
    item = appwrapper(phase, *conditions, **{**known, **fields})
    return AppWrapper(with_quota_seconds(item, quota_seconds))


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    at = (NOW + timedelta(milliseconds=250)).timestamp()
    for record in caplog.records:
        record.created = at
    return [json.loads(JsonLines().format(record)) for record in caplog.records]


@pytest.fixture(autouse=True)
def info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "accounting")


def test_the_page_shows_a_real_line(caplog: pytest.LogCaptureFixture) -> None:
    unhealthy = condition("Unhealthy", "True", "FoundFailedPods", seconds=60)
    failed = made("Failed", RESERVED, unhealthy)
    log_end(made("Running", RESERVED), failed, FAIL, GPUS, NOW)
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (line,) = lines(caplog)
    assert (line, list(line)) == (json.loads(example), list(json.loads(example)))
    assert line["uid"] == UID
    described = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    fields = {name for each in described for name in re.findall(r"`(\w+)`", each)}
    assert fields == set(line) - {"level", "logger", "message"}


def test_success_releases_the_quota_in_the_same_write(caplog: pytest.LogCaptureFixture) -> None:
    released = condition("QuotaReserved", "False", "Succeeded", seconds=0)
    done = made("Succeeded", released, attempt=1, retries=0, quota_seconds=3600)
    log_end(made("Running", RESERVED, attempt=1, retries=0), done, SUCCEED, GPUS, NOW)
    (line,) = lines(caplog)
    found = (line["phase"], line["began"], line["ended"], line["quotaSeconds"], line["gpuHours"])
    assert found == ("Succeeded", "2026-03-02T13:03:10Z", "2026-03-02T14:03:10Z", 3600, 16)


def test_a_user_deletes_it_before_its_end(caplog: pytest.LogCaptureFixture) -> None:
    deleted = METADATA | {"deletionTimestamp": "2026-03-02T14:03:00Z"}
    gone = made("Terminating", RESERVED, metadata=deleted)
    log_end(made("Running", RESERVED, metadata=deleted), gone, TERMINATE, GPUS, NOW)
    (line,) = lines(caplog)
    found = (line["phase"], line["reason"], line["ended"], line["gpuHours"])
    assert found == ("Terminating", "Terminating", "2026-03-02T14:03:00Z", 24)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_deletion_of_an_ended_one_is_no_second_end(
    phase: str, caplog: pytest.LogCaptureFixture
) -> None:
    log_end(made(phase), made("Terminating"), TERMINATE, GPUS, NOW)
    assert lines(caplog) == []


def test_no_other_move_is_an_end(caplog: pytest.LogCaptureFixture) -> None:
    for phase in set(Phase) - {Phase.SUCCEEDED, Phase.FAILED, Phase.TERMINATING}:
        move = MoveTo(phase, Reason.RESUMING)
        log_end(made("Running", RESERVED), made(phase.value), move, GPUS, NOW)
    assert lines(caplog) == []


def test_unknown_figures_are_null(caplog: pytest.LogCaptureFixture) -> None:
    """An earlier version released the quota: it was suspended before the update."""
    released = condition("QuotaReserved", "False", "Suspended", seconds=90)
    gone = made("Terminating", released, quota_seconds=None, metadata={"labels": {}})
    before = made("Suspended", released, quota_seconds=None)
    log_end(before, gone, TERMINATE, GPUS, datetime(2026, 3, 2, tzinfo=UTC))
    (line,) = lines(caplog)
    found = [line[each] for each in ("user", "queue", "began", "quotaSeconds", "gpuHours")]
    assert found == ["", "", None, None, None]
