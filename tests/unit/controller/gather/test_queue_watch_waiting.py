"""What a decision about one that waits in its queue gets to see."""

from dataclasses import replace
from typing import Any

import pytest

from controller.memory.memory import Remembered
from controller.phases.snapshot import Queueing
from controller.phases.waiting import WORKLOAD_PATIENCE
from shared.api.times import format_time, parse_time
from shared.kube.client import KubeError, Unreachable
from tests.support.builders.gathering import NOW, Gathering, appwrapper

QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "q"}}
NOTHING = Queueing(workload=False)
SINCE = "2025-12-31T23:00:00Z"
BEGAN = format_time(NOW - WORKLOAD_PATIENCE)
WAITED = {"noWorkload": {"began": BEGAN, "phase": "Suspended", "attempt": 1, "resettingCount": 0}}


WAITS_LONG = Queueing(workload=True, pending="no quota")


class Queues:
    """Says of an AppWrapper what a test says."""

    def __init__(
        self, found: Queueing | KubeError | None, why: str | None = "it is not selected"
    ) -> None:
        self.found, self.why = found, why
        self.asked: list[Any] = []

    async def read(self, appwrapper: Any, _remembered: Remembered) -> Queueing | None:
        self.asked.append(appwrapper.name)
        if isinstance(self.found, KubeError):
            raise self.found
        return self.found

    async def unmanaged(self, namespace: str) -> str | None:
        self.asked.append(namespace)
        return self.why


def waiting(reason: str = "Suspended", **changes: Any) -> Any:
    item = appwrapper("Suspended", metadata=QUEUE, spec={"suspend": True}, **changes)
    item["status"]["conditions"] = [
        {
            "type": "QuotaReserved",
            "status": "False",
            "reason": reason,
            "message": "some queue is missing",
            "lastTransitionTime": SINCE,
        }
    ]
    return item


@pytest.mark.parametrize("reason", ["Suspended", "QueueUnusable"])
@pytest.mark.parametrize("found", [None, WAITS_LONG])
async def test_the_watch_reports_the_waiting_reason(reason: str, found: Queueing | None) -> None:
    queues = Queues(found)
    bench = Gathering(waiting(reason), queues=queues)
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.queueing, snapshot.waits_since) == (found, parse_time(SINCE))
    assert queues.asked == ["train"]
    assert bench.methods() == []


async def test_a_report_stays_while_its_queue_cannot_be_read() -> None:
    bench = Gathering(waiting("QueueUnusable"), queues=Queues(Unreachable("no answer")))
    with pytest.raises(Unreachable):  # which ends the pass, so it writes nothing
        await bench.observe()


@pytest.mark.parametrize(
    ("why", "certain"), [("it is not selected", True), ("", False), (None, False)]
)
@pytest.mark.parametrize("timers", [{}, WAITED])
async def test_kueues_configuration_is_read_once_a_workload_is_missing(
    timers: Any, why: str | None, certain: bool
) -> None:
    queues = Queues(NOTHING, why)
    snapshot = (await Gathering(waiting(timers=timers), queues=queues).observe()).snapshot
    assert snapshot.queueing == replace(NOTHING, unmanaged=why, certain=certain)
    assert queues.asked == ["train", "team1"]


async def test_one_of_a_queue_that_nothing_suspends_is_asked_for() -> None:
    queues = Queues(NOTHING)
    item = appwrapper("Suspended", metadata=QUEUE, spec={"suspend": False})
    snapshot = (await Gathering(item, queues=queues).observe()).snapshot
    assert snapshot.queueing == replace(NOTHING, unmanaged="it is not selected", certain=True)


async def test_a_new_appwrapper_waits_since_it_was_first_seen() -> None:
    bench = Gathering(appwrapper("", metadata=QUEUE, spec={"suspend": True}))
    assert (await bench.observe()).snapshot.waits_since == NOW


@pytest.mark.parametrize(
    "item",
    [
        appwrapper("Suspended", spec={"suspend": True}),
        appwrapper("", metadata=QUEUE, spec={"suspend": True}),
    ],
)
async def test_an_appwrapper_without_queue_is_not_read(item: Any) -> None:
    queues = Queues(NOTHING)
    snapshot = (await Gathering(item, queues=queues).observe()).snapshot
    assert (snapshot.queueing, queues.asked) == (None, [])
