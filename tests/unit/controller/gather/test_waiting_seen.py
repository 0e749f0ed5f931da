"""What a decision about one that waits in its queue gets to see."""

from dataclasses import replace
from typing import Any

import pytest

from controller.phases.snapshot import Queueing
from controller.phases.waiting import WORKLOAD_PATIENCE
from shared.api.times import format_time, parse_time
from tests.support.builders.gathering import NOW, Bench, appwrapper

QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "q"}}
NOTHING = Queueing(workload=False)
SINCE = "2025-12-31T23:00:00Z"
BEGAN = format_time(NOW - WORKLOAD_PATIENCE)
WAITED = {"noWorkload": {"began": BEGAN, "phase": "Suspended", "attempt": 1, "resettingCount": 0}}


class Queues:
    """Says of an AppWrapper what a test says."""

    def __init__(self, found: Queueing | None) -> None:
        self.found = found
        self.asked: list[Any] = []

    async def look(self, appwrapper: Any, *, reported: bool) -> Queueing | None:
        self.asked.append((appwrapper.name, reported))
        return self.found

    async def unmanaged(self, namespace: str) -> str:
        self.asked.append(namespace)
        return "it is not selected"


def waiting(reason: str = "Suspended", **changes: Any) -> Any:
    item = appwrapper("Suspended", metadata=QUEUE, spec={"suspend": True}, **changes)
    item["status"]["conditions"] = [
        {
            "type": "QuotaReserved",
            "status": "False",
            "reason": reason,
            "lastTransitionTime": SINCE,
        }
    ]
    return item


@pytest.mark.parametrize("reason", ["Suspended", "QueueUnusable"])
@pytest.mark.parametrize("found", [None, NOTHING, Queueing(workload=True, pending="no quota")])
async def test_what_the_watch_knows(reason: str, found: Queueing | None) -> None:
    queues = Queues(found)
    bench = Bench(waiting(reason), queues=queues)
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.queueing, snapshot.waits_since) == (found, parse_time(SINCE))
    assert queues.asked == [("train", reason == "QueueUnusable")]
    assert bench.methods() == []


async def test_kueues_configuration_is_read_once_it_decides_what_is_said() -> None:
    queues = Queues(NOTHING)
    snapshot = (await Bench(waiting(timers=WAITED), queues=queues).observe()).snapshot
    assert snapshot.queueing == replace(NOTHING, unmanaged="it is not selected")
    assert queues.asked == [("train", False), "team1"]


@pytest.mark.parametrize(
    "item",
    [
        appwrapper("Suspended", spec={"suspend": True}),
        appwrapper("Suspended", metadata=QUEUE, spec={"suspend": False}),
        appwrapper("", metadata=QUEUE, spec={"suspend": True}),
    ],
)
async def test_nobody_asks_for_one_that_kueue_does_not_hold(item: Any) -> None:
    queues = Queues(NOTHING)
    snapshot = (await Bench(item, queues=queues).observe()).snapshot
    assert (snapshot.queueing, queues.asked) == (None, [])
