"""A request that no node can satisfy is named if the scheduler rejects the AppWrapper's own pod."""

from decimal import Decimal
from typing import Any

from controller.facts.pods import Pod, project_pod
from controller.phases.snapshot import PodCounts
from tests.support.builders.gathering import Gathering, appwrapper, facts, raw_pod

GPUS = "nvidia.com/gpu"


def rejected(name: str, gpus: int, uid: str = "u1") -> Pod:
    item: dict[str, Any] = raw_pod(name, "Pending")
    item["metadata"]["labels"]["workload.codeflare.dev/uid"] = uid
    item["spec"] = {"containers": [{"resources": {"requests": {GPUS: str(gpus)}}}]}
    item["status"]["conditions"] = [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": f"0/8 nodes are available: 8 Insufficient {GPUS}.",
        }
    ]
    return project_pod(item)


async def seen(phase: str, *pods: Pod) -> PodCounts:
    item = appwrapper(phase, "QuotaReserved", "ResourcesDeployed")
    bench = Gathering(item, known=facts(), pods=pods, largest={GPUS: Decimal(8)})
    return (await bench.observe()).snapshot.pods


async def too_large(*pods: Pod) -> str:
    return (await seen("Running", *pods)).too_large


async def test_the_request_of_an_own_pod_is_named() -> None:
    text = f"b requests 16 {GPUS}, and no node of the cluster has more than 8"
    assert await too_large(rejected("a", 8), rejected("b", 16)) == text
    assert await too_large(rejected("a", 8), rejected("b", 8)) == ""


async def test_a_pod_of_an_earlier_appwrapper_of_this_name_is_not_named() -> None:
    assert await too_large(rejected("a", 8), rejected("b", 16, uid="u0")) == ""


async def test_a_deletion_searches_for_no_request_that_is_too_large() -> None:
    counts = await seen("Suspending", rejected("b", 16))
    assert (bool(counts.rejected), counts.too_large) == (True, "")
