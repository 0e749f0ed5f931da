"""The nodes that Kueue assigned are looked at live, when the next attempt is due."""

from datetime import timedelta
from typing import Any

import pytest

from controller.gather.assignments import Assignments
from controller.phases.snapshot import Misplacement
from shared.api.appwrapper import AppWrapper
from shared.api.objects import NODES
from shared.api.times import format_precise_time
from shared.config.fault_tolerance import Autopilot
from shared.kube.client import Forbidden
from shared.waits.workload import WORKLOADS
from tests.support.builders.autopilot import HEALTH
from tests.support.builders.gathering import NOT_FOUND, NOW, Gathering, appwrapper
from tests.support.builders.nodes import raw_node
from tests.support.fakes.fake_kube import FakeKube, listed

HOST = "kubernetes.io/hostname"
OWNER = {"kind": "AppWrapper", "name": "train", "uid": "u1", "controller": True}
GATED = {
    "annotations": {"kueue.x-k8s.io/workload": "w"},
    "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
}
POD = {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}
BAD = Misplacement(f"its pods are assigned to node n1 ({HEALTH}=EVICT)", "w", "w1", "3")


def workload(*hosts: str) -> dict[str, Any]:
    values = {"individual": {"roots": list(hosts)}}
    part = {"valuesPerLevel": [values], "podCounts": {"universal": 1}}
    place = {"name": "main", "topologyAssignment": {"levels": [HOST], "slices": [part]}}
    return {
        "metadata": {
            "name": "w",
            "uid": "w1",
            "resourceVersion": "3",
            "ownerReferences": [OWNER],
        },
        "spec": {"podSets": [{"name": "main", "template": {"spec": POD}}]},
        "status": {
            "conditions": [{"type": "Admitted", "status": "True"}],
            "admission": {"podSetAssignments": [place]},
        },
    }


def due(ago: timedelta, *, gated: bool = True) -> dict[str, Any]:
    """Resetting under a topology; the pause of 90 s and up to a tenth more began so long ago."""
    stamp = {"phase": "Resetting", "attempt": 1, "resettingCount": 0}
    timers = {"retryPause": {"began": format_precise_time(NOW - ago), **stamp}}
    item = appwrapper("Resetting", "QuotaReserved", "Unhealthy", created=False, timers=timers)
    if gated:
        item["spec"]["components"][0]["podSetInfos"] = [GATED]
    return item


OVER = timedelta(seconds=100)


async def test_the_workload_is_read_and_then_its_nodes() -> None:
    pages = [
        [listed(9, workload("n1", "n2"))],
        [listed(9, raw_node("n1", "EVICT"), raw_node("n2"))],
    ]
    bench = Gathering(due(OVER), get=[NOT_FOUND], lists=pages)
    assert (await bench.observe()).snapshot.misplacement == BAD
    first, second = bench.kube.called("pages")
    assert (first.args, first.kwargs["label_selector"]) == (
        (WORKLOADS, "team1"),
        "kueue.x-k8s.io/job-uid=u1",
    )
    assert (second.args, second.kwargs["label_selector"]) == ((NODES,), f"{HOST} in (n1,n2)")


@pytest.mark.parametrize("item", [due(timedelta(seconds=80)), due(OVER, gated=False)])
async def test_nothing_is_read_before_the_pause_is_over_or_without_a_topology(item: Any) -> None:
    bench = Gathering(item, get=[NOT_FOUND])
    assert (await bench.observe()).snapshot.misplacement is None
    assert bench.kube.called("pages") == []


@pytest.mark.parametrize(
    "pages",
    [
        [Forbidden(403, "Forbidden", "no list")],
        [[listed(9, workload("n1"))], Forbidden(403, "Forbidden", "no list")],
    ],
)
async def test_an_unreadable_assignment_is_no_permit(pages: list[Any]) -> None:
    bench = Gathering(due(OVER), get=[NOT_FOUND], lists=pages)
    with pytest.raises(Forbidden, match="no list"):
        await bench.observe()


async def test_an_assignment_that_stays_unreadable_does_not_hold_the_quota_indefinitely() -> None:
    # The pause of up to 99 s, and two minutes for Kueue.
    pages = [Forbidden(403, "Forbidden", "no list")]
    in_time = Gathering(due(timedelta(seconds=205)), get=[NOT_FOUND], lists=list(pages))
    with pytest.raises(Forbidden, match="no list"):
        await in_time.observe()
    late = Gathering(due(timedelta(seconds=220)), get=[NOT_FOUND], lists=list(pages))
    assert (await late.observe()).snapshot.misplacement is None


async def test_fifty_of_many_nodes_are_read_at_once() -> None:
    hosts = [f"n{number:03}" for number in range(120)]
    nodes = [raw_node(each) for each in hosts]
    pages = [[listed(9, *nodes[begin : begin + 50])] for begin in (0, 50, 100)]
    lists: list[Any] = [[listed(9, workload(*hosts))], *pages]
    kube = FakeKube(lists=lists)
    found = await Assignments(kube, Autopilot()).read(AppWrapper(due(OVER)), "w")
    assert found is None
    asked = [call.kwargs["label_selector"] for call in kube.called("pages")[1:]]
    assert [each.count(",") + 1 for each in asked] == [50, 50, 20]


async def test_labels_that_repel_no_pods_do_not_count() -> None:
    pages: list[Any] = [[listed(9, workload("n1"))], [listed(9, raw_node("n1", "EVICT"))]]
    autopilot = Autopilot(inject_anti_affinities=False)
    found = await Assignments(FakeKube(lists=pages), autopilot).read(AppWrapper(due(OVER)), "w")
    assert found is None
