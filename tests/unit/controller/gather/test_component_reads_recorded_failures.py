"""How a component failed, once neither it nor this process's memory can tell."""

from controller.phases.snapshot import Presence
from shared.api.conditions import Terminal
from tests.support.builders.gathering import (
    CREATED,
    NOT_FOUND,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    raw_pod,
)
from tests.support.fakes.fake_kube import listed


async def test_the_failure_of_a_deleted_component_is_read_from_the_record() -> None:
    item = appwrapper("Running")
    failed = {"type": "Succeeded", "status": "False", "message": "BackoffLimitExceeded"}
    item["status"]["componentStatus"][0]["conditions"] = [CREATED, failed]
    live = listed(9, *(raw_pod(name, "Running") for name in ("a", "b")))
    gone = Gathering(item, pods=RUNNING_PODS, get=[NOT_FOUND, {"metadata": {}}], lists=[[live]])
    component = (await gone.observe()).snapshot.components[0]
    assert (component.presence, component.terminal, component.message) == (
        Presence.GONE,
        Terminal.FAILED,
        "BackoffLimitExceeded",
    )
    there = Gathering(item, known=facts(), pods=RUNNING_PODS)
    component = (await there.observe()).snapshot.components[0]
    assert (component.terminal, component.failure_recorded) == (None, True)
