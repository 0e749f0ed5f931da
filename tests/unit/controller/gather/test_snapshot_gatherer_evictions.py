"""Why Kueue took the quota back is looked up once all is gone, and holds up nothing."""

from typing import Any

import pytest

from shared.kube.client import Forbidden, Unreachable
from shared.waits.workload import WORKLOADS, PodsReadyEviction
from tests.support.builders.gathering import NOT_FOUND, Gathering, appwrapper, raw_pod
from tests.support.fakes.fake_kube import listed

QUEUED = {"labels": {"kueue.x-k8s.io/queue-name": "q"}}
DELETING = ("QuotaReserved", "ResourcesDeployed", "DeletingResources")
EVICTED = {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout"}
WORKLOAD = {"metadata": {"name": "w"}, "status": {"conditions": [EVICTED]}}


def suspending(lists: list[Any], metadata: dict[str, Any] = QUEUED) -> Gathering:
    item = appwrapper("Suspending", *DELETING, created=False, metadata=metadata)
    return Gathering(item, get=[NOT_FOUND], lists=lists)


async def test_it_is_read_from_the_workload_that_kueue_made_of_it() -> None:
    bench = suspending([[listed(9)], [listed(9, WORKLOAD)]])
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.pods_ready_eviction) == (True, PodsReadyEviction("w", 1))
    asked = bench.kube.called("pages")[-1]
    assert asked.args == (WORKLOADS, "team1")
    assert asked.kwargs == {"label_selector": "kueue.x-k8s.io/job-uid=u1"}


async def test_the_eviction_is_not_read_while_resources_exist() -> None:
    bench = suspending([[listed(9, raw_pod("a", "Running"))]])
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.pods_ready_eviction) == (False, None)


async def test_the_eviction_is_not_read_without_a_queue() -> None:
    snapshot = (await suspending([[listed(9)]], {}).observe()).snapshot
    assert (snapshot.gone, snapshot.pods_ready_eviction) == (True, None)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Forbidden(403, "Forbidden", "no list"), "403 Forbidden: no list"),
        (Unreachable("no route"), "no route"),
        (TimeoutError(), "no answer in time"),
    ],
)
async def test_the_quota_is_released_though_the_workload_is_unreadable(
    error: Exception, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    bench = suspending([[listed(9)], error])
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.pods_ready_eviction) == (True, None)
    assert caplog.messages == [
        f"no reason for the suspension can be given: its Workload cannot be read: {message}"
    ]
