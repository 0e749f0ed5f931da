"""A deletion of an AppWrapper that never deployed anything reads nothing."""

from typing import Any

import pytest

from controller.phases.ask import Need
from tests.support.builders.gathering import (
    KEY,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
)
from tests.support.cluster.resources import JOBS

NOT_STARTED: dict[str, Any] = {"attempt": 0, "created": False, "spec": {"suspend": True}}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("kept", ["", "pods", "a Job", "made by this process"])
async def test_one_that_is_deleted_while_it_waits_costs_nothing_unless_objects_exist(
    kept: str,
) -> None:
    """Objects refute a status that shows no deployment: another client may have changed it."""
    bench = Gathering(
        appwrapper("Suspended", metadata=DELETED, **NOT_STARTED),
        pods=RUNNING_PODS if kept == "pods" else (),
        created=kept == "made by this process",
    )
    if kept == "a Job":
        bench.watches.others = [(JOBS, facts())]
    reads = await bench.gatherer.begin(KEY, NOW)
    assert reads is not None
    assert reads.snapshot.never_deployed is not bool(kept)
    if not kept:
        assert (await bench.gatherer.answered(reads, Need.OBSERVED)).components == ()
        assert bench.methods() == []


async def test_one_of_another_controller_is_read_once_it_is_deleted() -> None:
    """Kueue's webhook set managedBy after this project's webhook had added the finalizer."""
    item = appwrapper("Running", metadata=DELETED, spec={"managedBy": "kueue.x-k8s.io/multikueue"})
    reads = await Gathering(item).gatherer.begin(KEY, NOW)
    assert reads is not None
    assert (reads.snapshot.foreign, reads.snapshot.never_deployed) == (True, False)
