"""What decisions need, seen in time: by what was found last, and on the nodes of pods."""

from dataclasses import replace

import pytest

from tests.support.builders import nodes as node_builders
from tests.support.builders.autopilot import GPU
from tests.support.builders.gathering import (
    NOT_FOUND,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
)


@pytest.mark.parametrize("label", ["EVICT", ""])
async def test_the_label_of_a_node_of_its_pods_is_observed(label: str) -> None:
    pods = tuple(replace(pod, node="n1", resources=(GPU,)) for pod in RUNNING_PODS)
    nodes = node_builders.index(NOW, n1=label).tags
    there = {"metadata": {"labels": {"autopilot.ibm.com/gpuhealth": label}}}
    bench = Gathering(
        appwrapper("Running"), known=facts(), pods=pods, nodes=nodes, get=[there] if label else []
    )
    evacuation = (await bench.observe()).snapshot.evacuation
    assert (evacuation is not None) is bool(label)
    assert evacuation is None or evacuation.resources == {GPU}


async def test_a_pause_that_counts_once_the_lost_attempt_is_found_needs_no_proof() -> None:
    paused = {"began": "2026-01-01T00:00:00Z", "phase": "Resetting"}
    timers = {"retryPause": {**paused, "attempt": 1, "resettingCount": 0}}
    item = appwrapper("Resetting", timers=timers)
    del item["status"]["attempt"]
    bench = Gathering(item, pods=RUNNING_PODS, get=[NOT_FOUND, NOT_FOUND])
    snapshot = (await bench.observe()).snapshot
    assert snapshot.timers.retry_pause is not None
    assert (snapshot.gone, bench.methods()) == (False, ["get", "get"])
