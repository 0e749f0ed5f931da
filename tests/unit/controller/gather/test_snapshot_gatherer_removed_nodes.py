"""Pods on nodes that do not exist: a live read must prove it, and then they do not run."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.api.times import format_time
from shared.kube.client import Unreachable
from tests.support.builders.gathering import (
    NOT_FOUND,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
)

BEFORE = NOW - timedelta(minutes=1)
PODS = tuple(replace(pod, node=node) for pod, node in zip(RUNNING_PODS, ("n1", "n2"), strict=True))
NODE = {"metadata": {"name": "n1"}}


def gathering(*answers: Any, message: str = "", pods: Any = PODS) -> Gathering:
    ready = {"type": "PodsReady", "status": "False", "message": message}
    item = appwrapper("Running", conditions=[ready])
    return Gathering(item, known=facts(), pods=pods, unknown_nodes=("n1",), get=[*answers])


async def test_a_removed_node_counts_as_silent_since_it_is_first_seen() -> None:
    bench = gathering(NOT_FOUND)
    observation = await bench.observe()
    snapshot = observation.snapshot
    assert (snapshot.pods.running, snapshot.pods.unreachable) == (1, 1)
    assert snapshot.unreachable is not None
    assert snapshot.unreachable.message == (
        f"Pod a on node n1, which was removed and does not answer since {format_time(NOW)}"
    )
    assert observation.look_again == timedelta(seconds=30)
    assert bench.methods() == ["get"]


@pytest.mark.parametrize("removed", ["", "was removed and "])
async def test_it_is_silent_since_the_time_that_pods_ready_names(removed: str) -> None:
    since = format_time(BEFORE)
    text = f"1 of 2 pods run; Pod a on node n1, which {removed}does not answer since {since}"
    found = (await gathering(NOT_FOUND, message=text).observe()).snapshot.unreachable
    assert found is not None
    assert found.since == BEFORE


async def test_a_node_that_the_watch_does_not_show_yet_is_not_removed() -> None:
    snapshot = (await gathering(NODE).observe()).snapshot
    assert (snapshot.pods.running, snapshot.unreachable) == (2, None)


async def test_a_failed_read_raises() -> None:
    with pytest.raises(Unreachable, match="connection refused"):
        await gathering(Unreachable("connection refused")).observe()


async def test_pods_that_have_ended_ask_for_no_node() -> None:
    bench = gathering(pods=tuple(replace(each, phase="Succeeded") for each in PODS))
    await bench.observe()
    assert bench.methods() == []
