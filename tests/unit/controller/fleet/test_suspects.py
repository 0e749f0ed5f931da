"""Whom suspect nodes are kept from, and which of them an admin hears of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from prometheus_client import CollectorRegistry

from controller.facts.nodes import NodeProjection
from controller.facts.pods import Pod
from controller.facts.suspects import Blame, SuspectNode
from controller.fleet.node_index import NodeIndex
from controller.fleet.suspects import REASON, Suspects
from shared.api.appwrapper import AppWrapper
from shared.config.configuration import AppWrapperConfig
from shared.injection.avoided_hosts import NO_HOSTS, AvoidedHosts
from shared.kube.events import ObjectReference
from tests.support.builders.autopilot import GPU
from tests.support.builders.jobs import job
from tests.support.builders.nodes import TAINTS, change, raw_node
from tests.support.fakes.fake_clock import START, FakeClock

EVERYTHING = NodeProjection(None, [GPU])
_DAY = 24 * 3600.0


@dataclass
class Recorder:
    """Keeps what it is told."""

    told: list[tuple[ObjectReference, str, str]] = field(default_factory=list)

    def warning(self, about: ObjectReference, reason: str, message: str) -> None:
        self.told.append((about, reason, message))


class SuspectsBench:
    """Four nodes; the second one's host name is not its own name."""

    def __init__(self, mode: str = "Preferred", *, watched: bool = True) -> None:
        self.clock = FakeClock()
        self.recorder = Recorder()
        self.nodes = NodeIndex(TAINTS)
        if watched:
            for name in ("n1", "n2", "n3", "n4"):
                raw = raw_node(name)
                if name == "n2":
                    raw["metadata"]["labels"]["kubernetes.io/hostname"] = "host-2"
                self.nodes.update(change(None, EVERYTHING.project(raw)), START)
        autopilot = {"monitorNodes": watched}
        config = AppWrapperConfig.model_validate({"suspectNodes": mode, "autopilot": autopilot})
        recorder: Any = self.recorder
        self.pods: list[Pod] = []
        self.suspects = Suspects(config, self.nodes, recorder, self.clock, self.on)
        self.registry = CollectorRegistry()
        self.suspects.show(self.registry)

    def on(self, node: str) -> list[Pod]:
        return [each for each in self.pods if each.node == node]

    def avoided(self, *nodes: str, pods: int = 2, texts: Sequence[bytes] = ()) -> AvoidedHosts:
        since = START.isoformat()
        entries = [{"node": each, "since": since, "pod": "p", "attempt": 1} for each in nodes]
        raw = {"metadata": {"uid": "u1"}, "status": {"suspectNodes": entries, "attempt": 2}}
        return self.suspects.avoided_hosts(AppWrapper(raw), texts or [component(pods)])

    @property
    def reported(self) -> float | None:
        return self.registry.get_sample_value("appwrapper_suspect_nodes")

    def blame(self, user: str, name: str, *nodes: str) -> None:
        """The AppWrapper of that name, of that user, suspects these nodes, and no others."""
        now = self.clock.now()
        blames = tuple(
            Blame(
                user=user,
                namespace="team1",
                name=name,
                suspect=SuspectNode(node=node, since=now, pod="p", attempt=1),
            )
            for node in nodes
        )
        self.suspects.look(("team1", name), blames)


def component(pods: int) -> bytes:
    body = job("train", pods)
    template = body["spec"]["template"]["spec"]
    template["containers"][0]["resources"] = {"limits": {GPU: "8"}}
    return orjson.dumps({"template": body})


def test_hosts_are_unwanted_by_default_under_their_host_names() -> None:
    assert SuspectsBench().avoided("n1", "n2") == AvoidedHosts(unwanted=("n1", "host-2"))
    assert SuspectsBench().avoided() == NO_HOSTS


def test_off_avoids_nothing() -> None:
    assert SuspectsBench("Off").avoided("n1") == NO_HOSTS


def test_without_a_watch_of_nodes_the_name_is_taken_and_nothing_is_required() -> None:
    assert SuspectsBench(watched=False).avoided("n2") == AvoidedHosts(unwanted=("n2",))
    assert SuspectsBench("Required", watched=False).avoided("n2") == AvoidedHosts(unwanted=("n2",))


def test_a_name_that_no_affinity_can_hold_is_left_out() -> None:
    long = "n" * 64
    assert SuspectsBench(watched=False).avoided(long) == NO_HOSTS
    assert SuspectsBench(watched=False).avoided(long, "n1") == AvoidedHosts(unwanted=("n1",))


def test_required_forbids_hosts_while_the_others_have_room() -> None:
    world = SuspectsBench("Required")
    forbidden = AvoidedHosts(by_resource={GPU: ("n1", "n3")}, unwanted=("n1", "n3"))
    assert world.avoided("n1", "n3", pods=2) == forbidden
    assert world.avoided("n1", "n3", pods=3) == AvoidedHosts(unwanted=("n1", "n3"))


def test_an_unreadable_template_has_no_room() -> None:
    spec = {"containers": "none", "affinity": 3, "tolerations": "x"}
    text = orjson.dumps(
        {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec}}
    )
    assert SuspectsBench("Required").avoided("n1", texts=[text]) == AvoidedHosts(unwanted=("n1",))


def test_an_admin_hears_once_of_a_node_that_two_users_blame() -> None:
    world = SuspectsBench()
    world.blame("alice", "a", "n1")
    world.blame("alice", "b", "n1")
    assert (world.reported, world.recorder.told) == (0, [])
    world.blame("bob", "c", "n2", "n1")
    (about, reason, message), *others = world.recorder.told
    assert others == []
    assert about == ObjectReference("v1", "Node", "", "n1", "uid-n1")
    assert reason == REASON
    assert message == (
        "AppWrappers of 2 users failed first on it within a day (team1/a, team1/b, team1/c):"
        " check its hardware; to keep new pods off it: kubectl cordon n1"
    )
    world.blame("carol", "d", "n1")
    assert (world.reported, len(world.recorder.told)) == (1, 1)


async def test_it_is_reported_once_a_day() -> None:
    world = SuspectsBench()
    world.blame("alice", "a", "n1")
    world.blame("bob", "b", "n1")
    await world.clock.advance(_DAY - 1)
    world.blame("carol", "c", "n1")
    assert (world.reported, len(world.recorder.told)) == (1, 1)
    await world.clock.advance(1)
    assert world.reported == 0
    world.blame("dave", "d", "n1")
    assert (world.reported, len(world.recorder.told)) == (1, 2)


def test_a_deleted_appwrapper_suspects_no_node() -> None:
    world = SuspectsBench()
    world.blame("alice", "a", "n1")
    world.blame("bob", "b", "n1")
    world.blame("bob", "b")
    assert world.reported == 0
    world.blame("bob", "b", "n2")
    assert world.reported == 0


def test_a_node_that_is_gone_is_not_reported() -> None:
    world = SuspectsBench()
    world.blame("alice", "a", "n9")
    world.blame("bob", "b", "n9")
    assert (world.reported, world.recorder.told) == (0, [])


def test_without_a_watch_the_name_identifies_the_appwrapper() -> None:
    world = SuspectsBench(watched=False)
    world.blame("alice", "a", "n9")
    world.blame("bob", "b", "n9")
    ((about, _, _),) = world.recorder.told
    assert about == ObjectReference("v1", "Node", "", "n9", "n9")


def test_off_reports_nothing() -> None:
    world = SuspectsBench("Off")
    world.blame("alice", "a", "n1")
    world.blame("bob", "b", "n1")
    assert (world.reported, world.recorder.told) == (0, [])
