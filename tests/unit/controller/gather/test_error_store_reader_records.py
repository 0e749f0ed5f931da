"""When an error store is asked, and what a decision learns of it."""

from dataclasses import replace
from typing import Any

import pytest

from controller.facts.container_ends import ContainerEnd
from controller.facts.error_store import StoreRead, awaits_records, records_uri
from controller.facts.pods import Pod
from controller.phases.ask import Need
from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_PREFIX
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import ErrorAggregation, FaultToleranceConfig
from tests.support.builders.gathering import (
    KEY,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
)
from tests.support.builders.remembered_pods import pod
from worker.record import ErrorRecord

STORED = FaultToleranceConfig(error_aggregation=ErrorAggregation(stores={"team": "s3://b/errors"}))
CONFIG = AppWrapperConfig(fault_tolerance=STORED)
EMPTY = StoreRead()
FAILED = pod("a", "Failed")
RECORDED = replace(
    FAILED, ends=(ContainerEnd(container="c", exit_code=1, record=ErrorRecord(code="E")),)
)
RUNNING = pod("b", "Running")


class Stores:
    """Return `found`, once somebody asked."""

    def __init__(self, read: StoreRead | None = EMPTY) -> None:
        self.found = read
        self.asked: list[tuple[str, bool]] = []
        self.forgotten: list[str] = []

    def read(self, appwrapper: Any, store: str, *, begin: bool) -> StoreRead | None:
        self.asked.append((store, begin))
        return self.found

    def forget(self, uid: str, key: tuple[str, str]) -> None:
        assert key == KEY
        self.forgotten.append(uid)


def named(phase: str = "Running", store: str = "team") -> Any:
    item = appwrapper(phase)
    item["metadata"].setdefault("annotations", {})[f"{ANNOTATION_PREFIX}errorStore"] = store
    return item


def waiting(item: Any) -> Any:
    """The same, whose wait for the store has begun."""
    stamp = {"phase": "Running", "attempt": 1, "resettingCount": 0}
    item["status"]["timers"] = {"errorStore": {"began": "2026-01-01T00:00:00Z", **stamp}}
    return item


def bench(item: Any, stores: Stores, pods: tuple[Pod, ...] = RUNNING_PODS) -> Gathering:
    return Gathering(item, known=facts(), pods=pods, behaviour=CONFIG, stores=stores)


@pytest.mark.parametrize(
    ("read", "asked", "reads", "known"),
    [
        pytest.param(None, False, False, False, id="nobody asks"),
        pytest.param(None, True, True, False, id="it is read"),
        pytest.param(EMPTY, True, False, True, id="it was read"),
        pytest.param(EMPTY, False, False, True, id="what was read stays known"),
    ],
)
async def test_a_decision_gets_the_records_of_its_attempt(
    read: StoreRead | None, asked: bool, reads: bool, known: bool
) -> None:
    stores = Stores(read)
    item = waiting(named())
    observation = await bench(item, stores).gather(KEY, NOW, {Need.RECORDS} if asked else ())
    assert observation is not None
    snapshot = observation.snapshot
    assert (snapshot.reads_store, snapshot.store_read) == (reads, known)
    assert stores.asked == [("team", False), *([("team", True)] if asked else [])]
    assert stores.forgotten == []


async def test_records_of_a_healed_failure_are_forgotten() -> None:
    """Else the next failure of the attempt would be judged by the records of the first."""
    stores = Stores()
    await bench(named(), stores).observe()
    assert stores.forgotten == ["u1"]


@pytest.mark.parametrize("item", [appwrapper("Running"), named(store="other")])
async def test_no_store_is_asked_that_is_not_named_and_configured(item: Any) -> None:
    stores = Stores()
    observation = await bench(item, stores).gather(KEY, NOW, {Need.RECORDS})
    assert observation is not None
    assert stores.asked == []


async def test_the_next_attempt_begins_with_nothing_read() -> None:
    stores = Stores()
    await bench(named("Resuming"), stores).observe()
    assert (stores.asked, stores.forgotten) == ([], ["u1"])


@pytest.mark.parametrize(
    ("pods", "store", "awaited"),
    [
        pytest.param([FAILED], "", False, id="nobody records"),
        pytest.param([FAILED], "team", True, id="a store is named"),
        pytest.param([RECORDED], "", False, id="all recorded"),
        pytest.param([RECORDED], "team", False, id="all recorded, and a store"),
        pytest.param([RECORDED, RUNNING], "", True, id="one runs"),
        pytest.param([RECORDED, replace(RUNNING, deleting=True)], "", True, id="one ends"),
        pytest.param([RECORDED, replace(FAILED, uid="f")], "", True, id="one has none"),
        pytest.param([RECORDED, pod("c", "Pending")], "", False, id="one did not start"),
        pytest.param([RECORDED, pod("c", "Succeeded")], "", False, id="one ended well"),
        pytest.param([RECORDED, replace(RUNNING, attempt="2")], "", False, id="of another attempt"),
        pytest.param([replace(RECORDED, attempt="0"), RUNNING], "", False, id="an old record"),
        pytest.param([], "team", False, id="no pods"),
    ],
)
def test_who_may_yet_leave_a_record(pods: list[Pod], store: str, awaited: bool) -> None:
    assert awaits_records(pods, 1, store) is awaited


def test_each_attempt_has_a_folder_of_its_own() -> None:
    item = AppWrapper({"metadata": {"namespace": "team1", "name": "train", "uid": "u1"}})
    assert records_uri("s3://b/errors/", item, 2) == "s3://b/errors/team1/train/u1/2"
