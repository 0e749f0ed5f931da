"""The one condition that is written into Kueue's Workload."""

import pytest

from controller.apply.eviction import evict
from controller.phases.snapshot import Misplacement
from shared.kube.client import Conflict, Forbidden, NotFound, PatchType
from shared.waits.workload import WORKLOADS
from tests.support.fakes.fake_kube import FakeKube
from tests.support.moments import NOW

FOUND = Misplacement("its pods are assigned to node n1 (cordoned)", "w", "w1", "7")


async def test_nothing_but_the_condition_of_that_very_version_is_written() -> None:
    kube = FakeKube(answers={"patch": [{}]})
    await evict(kube, "team1", FOUND, NOW)
    (call,) = kube.called("patch")
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"namespace": "team1", "name": "w", "uid": "w1", "resourceVersion": "7"},
        "status": {
            "conditions": [
                {
                    "type": "Evicted",
                    "status": "True",
                    "reason": "NodeFailures",
                    "message": "its pods are assigned to node n1 (cordoned)",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ]
        },
    }
    assert call.args == (WORKLOADS, "team1", "w", body, PatchType.APPLY)
    assert call.kwargs == {
        "subresource": "status",
        "field_manager": "appwrapper-controller-eviction",
        "force": True,
    }


@pytest.mark.parametrize("error", [Conflict(409, "Conflict", "newer"), NotFound(404, "", "gone")])
async def test_another_version_is_for_the_next_look(error: Exception) -> None:
    await evict(FakeKube(answers={"patch": [error]}), "team1", FOUND, NOW)


async def test_a_refusal_is_an_error() -> None:
    kube = FakeKube(answers={"patch": [Forbidden(403, "Forbidden", "no patch")]})
    with pytest.raises(Forbidden, match="no patch"):
        await evict(kube, "team1", FOUND, NOW)
