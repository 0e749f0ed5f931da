"""The pod that failed first is found although the watch of pods lags behind."""

from controller.phases.snapshot import Suspect
from tests.support.builders.gathering import (
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    raw_pod,
)
from tests.support.fakes.fake_kube import listed

FAILED = {"conditions": [{"type": "Failed", "status": "True"}]}


async def test_a_failed_pod_before_its_watch_event_is_read() -> None:
    """Its component says already that it gave up."""
    failed = raw_pod("a", "Failed")
    failed["spec"] = {"nodeName": "n1"}
    failed["status"]["startTime"] = "2026-01-01T10:00:00Z"
    live = listed(9, failed, raw_pod("b", "Running"))
    bench = Gathering(
        appwrapper("Running"),
        known=facts(**FAILED),
        pods=RUNNING_PODS,
        get=[{"metadata": {}}],
        lists=[[live]],
    )
    assert (await bench.observe()).snapshot.suspect == Suspect(node="n1", pod="a")
