"""Which hosts the next pods avoid because of the AppWrapper's suspect nodes."""

from typing import Any

from shared.api.appwrapper import AppWrapper
from tests.support.builders.nodes import raw_node
from tests.support.fakes.fake_clock import START
from tests.support.fakes.running_fleet import running


async def unwanted(*nodes: str, mode: str = "Preferred", watched: bool = True) -> tuple[str, ...]:
    """The host name of node n2 differs from its name."""
    since = START.isoformat()
    entries = [{"node": each, "since": since, "pod": "p", "attempt": 1} for each in nodes]
    item = AppWrapper({"metadata": {"uid": "u1"}, "status": {"suspectNodes": entries}})
    section: dict[str, Any] = {"suspectNodes": mode, "autopilot": {"monitorNodes": watched}}
    async with running(section) as (world, _):
        if watched:
            await world.change(raw_node("n2", hostname="host-2"), 8)
        avoided = world.fleet.avoided_hosts(item)
        assert avoided.by_resource == {}
        return avoided.unwanted


async def test_suspect_nodes_are_avoided_under_their_host_names() -> None:
    assert await unwanted("n1", "n2") == ("n1", "host-2")
    assert await unwanted() == ()


async def test_required_acts_as_preferred_and_off_avoids_nothing() -> None:
    assert await unwanted("n1", mode="Required") == ("n1",)
    assert await unwanted("n1", mode="Off") == ()


async def test_without_a_watch_of_nodes_the_name_serves_as_host_name() -> None:
    assert await unwanted("n2", watched=False) == ("n2",)


async def test_a_name_that_no_affinity_can_hold_is_left_out() -> None:
    assert await unwanted("n" * 64, "n1", watched=False) == ("n1",)
