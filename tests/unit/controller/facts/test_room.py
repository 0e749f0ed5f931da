"""Whether all pods of an AppWrapper certainly find free nodes beside those that it must avoid."""

from typing import Any

import pytest

from controller.facts.nodes import NodeProjection
from controller.facts.pods import Pod
from controller.facts.room import PodGroup, Room, pod_groups, resources_of
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from tests.support.builders.autopilot import GPU
from tests.support.builders.jobs import job
from tests.support.builders.nodes import TAINTS, raw_node
from tests.support.builders.remembered_pods import pod

EVERYTHING = NodeProjection(None, [GPU])
OWN = AppWrapper({"metadata": {"uid": "u1"}, "status": {"attempt": 2}})
DEDICATED = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}


def component(pods: int = 2, gpus: str = "8", info: Any = None, **spec: Any) -> JsonObject:
    body = job("train", pods)
    template = body["spec"]["template"]["spec"]
    template["containers"][0]["resources"] = {"limits": {GPU: gpus}}
    template.update(spec)
    return {"template": body, "podSetInfos": [info or {}]}


def suffices(
    *components: JsonObject,
    nodes: list[JsonObject] | None = None,
    pods: tuple[Pod, ...] = (),
    without: tuple[str, ...] = ("n1",),
    withheld: tuple[str, ...] = (),
) -> bool:
    """By default three empty nodes of 8 GPUs, the first of which must be avoided."""
    raws = [raw_node(f"n{number}") for number in (1, 2, 3)] if nodes is None else nodes
    room = Room(
        nodes=[EVERYTHING.project(each) for each in raws],
        resource_taints=TAINTS,
        withheld=lambda name: (GPU,) if name in withheld else (),
        pods_on=lambda node: [each for each in pods if each.node == node],
        own=OWN,
    )
    return room.suffices(pod_groups(components, [GPU]), without)


def test_as_many_pods_as_the_other_nodes_hold_and_not_one_more() -> None:
    assert suffices(component(2))
    assert not suffices(component(3))
    assert suffices(component(3), without=())
    assert suffices(component(4, "4"))
    assert not suffices(component(5, "4"))


def test_a_node_that_is_latched_holds_none() -> None:
    assert suffices(component(1), withheld=("n2",))
    assert not suffices(component(2), withheld=("n2",))


def test_all_components_count_each_pod_as_one_of_the_largest() -> None:
    assert suffices(component(1), component(1))
    assert not suffices(component(1), component(2, "1"))
    assert suffices(component(1, "3"), component(3, "1"))


def test_pods_that_ask_for_nothing_that_nodes_show_prove_nothing() -> None:
    assert not suffices(component(1, "0"))
    assert not suffices()


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}},
        {"spec": {"taints": [DEDICATED]}},
        {"allocatable": {GPU: "7"}},
        {"allocatable": {}},
        {"label": "ERR"},
        {"label": "EVICT"},
    ],
)
def test_a_node_that_may_not_take_them_is_no_room(changes: dict[str, Any]) -> None:
    nodes = [raw_node("n1"), raw_node("n2"), raw_node("n3", **changes)]
    assert not suffices(component(2), nodes=nodes)
    assert suffices(component(1), nodes=nodes)


def test_a_node_with_a_preference_against_it_is_room() -> None:
    assert suffices(component(2), nodes=[raw_node("n2", "WARN"), raw_node("n3")])


@pytest.mark.parametrize(
    ("holder", "free"),
    [
        ({}, False),
        ({"phase": "Pending"}, False),
        ({"deleting": True}, False),
        ({"phase": "Succeeded"}, True),
        ({"phase": "Failed"}, True),
        ({"resources": ("cpu",)}, True),
        # Of an earlier attempt, which is gone; the watch of pods lags behind.
        ({"appwrapper_uid": "u1", "attempt": "1"}, True),
        ({"appwrapper_uid": "u1", "attempt": "2"}, False),
    ],
)
def test_a_node_where_others_use_the_resource_is_full(holder: dict[str, Any], free: bool) -> None:
    fields = {"node": "n3", "appwrapper_uid": "u2", "resources": ("cpu", GPU), **holder}
    assert suffices(component(2), pods=(pod("holder", **fields),)) is free


def terms(*requirements: Any, **more: Any) -> JsonObject:
    term = {"matchExpressions": list(requirements), **more}
    required = {"nodeSelectorTerms": [{"matchExpressions": []}, term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def rack(operator: str, *values: str, key: str = "rack") -> JsonObject:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("spec", "info", "found"),
    [
        ({"nodeSelector": {"rack": "a"}}, {}, True),
        ({"nodeSelector": {"rack": "b"}}, {}, False),
        ({}, {"nodeSelector": {"rack": "a"}}, True),
        ({}, {"nodeSelector": {"rack": "b"}}, False),
        ({"affinity": terms(rack("In", "a", "b"))}, {}, True),
        ({"affinity": terms(rack("In", "b"))}, {}, False),
        ({"affinity": terms(rack("NotIn", "b"), rack("NotIn", "x", key="none"))}, {}, True),
        ({"affinity": terms(rack("NotIn", "a"))}, {}, False),
        ({"affinity": terms(rack("Exists"))}, {}, True),
        ({"affinity": terms(rack("Exists", key="none"))}, {}, False),
        ({"affinity": terms(rack("DoesNotExist", key="none"))}, {}, True),
        ({"affinity": terms(rack("DoesNotExist"))}, {}, False),
        ({"affinity": terms(rack("Gt", "0"))}, {}, False),
        ({"affinity": terms(rack("Exists"), matchFields=[{"key": "metadata.name"}])}, {}, False),
        ({"affinity": terms()}, {}, False),
        ({"affinity": {"podAntiAffinity": {"x": []}}}, {}, False),
        ({"affinity": {"podAffinity": {"x": []}}}, {}, False),
        ({"topologySpreadConstraints": [{}]}, {}, False),
        ({"nodeName": "n2"}, {}, False),
    ],
)
def test_nodes_that_accept_no_pods_have_no_room(
    spec: dict[str, Any], info: dict[str, Any], found: bool
) -> None:
    node = raw_node("n2")
    node["metadata"]["labels"]["rack"] = "a"
    assert suffices(component(1, info=info, **spec), nodes=[node]) is found


@pytest.mark.parametrize("where", ["template", "Kueue"])
def test_a_taint_that_the_pods_tolerate_is_none(where: str) -> None:
    toleration = [{"key": "dedicated", "operator": "Exists"}]
    nodes = [raw_node("n2", spec={"taints": [DEDICATED]})]
    given: dict[str, Any] = {"tolerations": toleration} if where == "template" else {}
    info = {"tolerations": toleration} if where == "Kueue" else {}
    assert suffices(component(1, info=info, **given), nodes=nodes)


def test_requests_of_other_resources_are_omitted() -> None:
    groups: list[PodGroup] = pod_groups([component(2), component(1, "0")], [GPU])
    assert [each.replicas for each in groups] == [2]
    assert resources_of(groups) == {GPU}
