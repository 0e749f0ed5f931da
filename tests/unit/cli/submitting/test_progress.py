"""One line for each stage of an AppWrapper."""

from typing import Any

import pytest

from cli.submitting.progress import first_failure, progress
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from tests.support.builders.explained.objects import appwrapper, condition

WAITS = condition("QuotaReserved", "False", "Pending", "12 more\nGPUs needed")
ILL = condition("Unhealthy", "True", "FoundFailedPods", "1 failed pod: train-0")
STARTS = condition("PodsReady", "False", "InsufficientPodsReady", "1 of 2 pods run")
READY = condition("PodsReady", "True", "SufficientPodsReady", "2 of 2 pods run")


def train(phase: str, *conditions: JsonObject, attempt: int = 1, **metadata: Any) -> AppWrapper:
    return AppWrapper(appwrapper(phase, *conditions, attempt=attempt, metadata=metadata))


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (train("", attempt=0), "train is created"),
        (train("Suspended", WAITS, attempt=0), "train waits for its quota: 12 more GPUs needed"),
        (train("Suspended", attempt=0), "train waits for its quota"),
        (train("Resuming"), "train has its quota, and starts (attempt 1)"),
        (train("Running", STARTS), "train runs (attempt 1): 1 of 2 pods run"),
        (train("Running", READY), "train runs, and all of its pods are ready (attempt 1)"),
        (train("Running", ILL, STARTS), "train is unhealthy (attempt 1): 1 failed pod: train-0"),
        (train("Resetting", ILL), "train is reset (attempt 1): 1 failed pod: train-0"),
        (train("Suspending"), "train is preempted or suspended (attempt 1)"),
        (train("Succeeded"), "train succeeded"),
        (train("Failed", ILL), "train failed (attempt 1): 1 failed pod: train-0"),
        (train("Terminating"), "train is being deleted"),
        (train("Running", deletionTimestamp="x"), "train is being deleted"),
    ],
)
def test_the_line_of_each_phase(item: AppWrapper, text: str) -> None:
    assert progress(item).text == text


def test_a_change_of_the_message_alone_is_no_new_stage() -> None:
    more = condition("PodsReady", "False", "InsufficientPodsReady", "2 of 3 pods run")
    first = progress(train("Running", STARTS)).stage
    assert progress(train("Running", more)).stage == first
    others = [
        train("Running", READY),
        train("Running", ILL, STARTS),
        train("Running", STARTS, attempt=2),
        train("Resetting", STARTS),
    ]
    assert all(progress(each).stage != first for each in others)


def test_the_first_failure_is_the_root_cause() -> None:
    item = train("Resetting")
    assert first_failure(item) == ""
    item.raw["status"]["rootCause"] = {
        "attempt": 1,
        "pod": "train-1",
        "node": "gpu-2",
        "message": "ValueError: shard 7",
    }
    assert first_failure(item) == (
        "first failure of attempt 1: train-1 on gpu-2: ValueError: shard 7"
    )
