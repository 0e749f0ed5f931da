"""A queue-name label means something only where there is a Kueue."""

from typing import Any

import pytest

from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from shared.api.objects import GroupVersionKind
from tests.support.builders.gathering import TEMPLATE, Gathering, appwrapper

QUEUE = {"kueue.x-k8s.io/queue-name": "q"}


@pytest.mark.parametrize(
    ("obstacle", "queued"),
    [("CustomResourceDefinition workloads.kueue.x-k8s.io serves v1beta1", True), ("", False)],
)
async def test_a_queue_is_waited_for_unless_no_kueue_can_be_there(
    obstacle: str, queued: bool
) -> None:
    item = appwrapper("Suspended", metadata={"labels": QUEUE, "finalizers": []})
    bench = Gathering(item, obstacle=obstacle)
    assert (await bench.observe()).snapshot == Snapshot(
        phase=Phase.SUSPENDED, queued=queued, arguments="train -n team1"
    )
    assert bench.unserved.asked == [GroupVersionKind("kueue.x-k8s.io", "v1beta2", "Workload")]


@pytest.mark.parametrize(
    ("phase", "labels", "spec"),
    [
        ("", QUEUE, {"suspend": True}),
        ("Suspended", {}, {}),
        ("Suspended", QUEUE, {"suspend": True}),
        ("Suspended", QUEUE, {"components": [{"template": TEMPLATE, "podSetInfos": [{}]}]}),
    ],
)
async def test_kueue_is_searched_only_if_its_absence_matters(
    phase: str, labels: dict[str, str], spec: dict[str, Any]
) -> None:
    bench = Gathering(appwrapper(phase, metadata={"labels": labels}, spec=spec), obstacle="")
    assert (await bench.observe()).snapshot.queued == bool(labels)
    assert bench.unserved.asked == []
