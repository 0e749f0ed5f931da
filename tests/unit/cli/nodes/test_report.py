"""The command as users call it, on a cluster with two shapes of GPU nodes."""

import json
from typing import Any

import pytest

from shared.api.objects import JsonObject
from tests.support.builders.queues import GPU, bound_pod, cluster_queue, gpu_node, operator_config
from tests.support.checked_cluster import checked
from tests.support.fakes.read_only_cluster import ReadOnlyCluster
from tests.support.manifests import ROOT

PAGE = ROOT / "docs" / "users" / "nodes.md"
INSTANCE = "node.kubernetes.io/instance-type"
HEALTH = "autopilot.ibm.com/gpuhealth"
LARGE, SMALL = {INSTANCE: "p5.48xlarge"}, {INSTANCE: "g6.xlarge"}
SILENT = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}
DEDICATED = {"taints": [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]}
CPU_ONLY: JsonObject = {
    "kind": "Node",
    "metadata": {"name": "control", "uid": "control", "labels": {}},
    "spec": {"unschedulable": True},
    "status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}},
}
OBJECTS = [
    operator_config(),
    cluster_queue("team1-cluster-queue", 32, 14),
    cluster_queue("team2-cluster-queue", 8, 4),
    gpu_node("a1", labels=LARGE),
    gpu_node("a2", labels=LARGE, spec=DEDICATED),
    gpu_node("a3", labels=LARGE, spec={"unschedulable": True}),
    gpu_node("a4", labels=LARGE, spec=SILENT),
    gpu_node("a5", labels={**LARGE, HEALTH: "ERR"}),
    gpu_node("a6", labels=LARGE, allocatable={GPU: "7"}),
    gpu_node("s1", gpus=1, labels=SMALL),
    CPU_ONLY,
    bound_pod("team1", "train-0", "a1", 6),
    bound_pod("team2", "train-0", "a3", 8),
    bound_pod("team2", "note", "a6", 4),
]


def nodes(
    monkeypatch: pytest.MonkeyPatch, *argv: str, cluster: Any = None, columns: int = 0
) -> tuple[int, str, str]:
    client = cluster or ReadOnlyCluster(OBJECTS)
    return checked(monkeypatch, client, *argv, command="nodes", COLUMNS=str(columns))


def test_the_shapes_and_the_bad_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page for users shows the same."""
    code, out, err = nodes(monkeypatch)
    assert (code, err) == (0, "")
    assert (
        out
        == f"""\
RESOURCE        EACH  INSTANCE     NODES  BAD  GPUS  USED  FREE  BLOCK
{GPU}     8  p5.48xlarge      6    4    47    18    13      8
{GPU}     1  g6.xlarge        1    0     1     0     1      1
-                  -  -                1    1     -     -     -      -

Bad nodes
  cordoned: a3, control
  NotReady or unreachable: a4
  {HEALTH}=ERR, NoSchedule: a5
  the kubelet offers 7 of its 8 {GPU}: a6
"""
    )
    assert f"\n```\n{out}```\n" in PAGE.read_text()
    assert max(map(len, out.splitlines())) <= 80


def test_wide_has_a_line_for_each_node(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = nodes(monkeypatch, "-o", "wide", columns=40)
    lines = [line.split(maxsplit=7) for line in out.splitlines()]
    assert code == 0
    assert lines[0] == ["NODE", "RESOURCE", "INSTANCE", "GPUS", "USED", "FREE", "TAINTS", "WHY"]
    assert lines[1] == ["a1", GPU, "p5.48xlarge", "8", "6", "2", "-"]
    assert lines[2] == ["a2", GPU, "p5.48xlarge", "8", "0", "8", "dedicated=batch:NoSchedule"]
    assert lines[3] == ["a3", GPU, "p5.48xlarge", "8", "8", "0", "-", "cordoned"]
    assert lines[6][5:] == ["3", "-", f"the kubelet offers 7 of its 8 {GPU}"]
    assert lines[8] == ["control", "-", "-", "-", "-", "-", "-", "cordoned"]


def test_json_has_shapes_and_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = nodes(monkeypatch, "-o", "json")
    found = json.loads(out)
    assert code == 0
    assert found["shapes"][0] == {
        "resource": GPU,
        "instance": "p5.48xlarge",
        "each": 8,
        "nodes": 6,
        "bad": 4,
        "gpus": 47,
        "inUse": 18,
        "free": 13,
        "largestFree": 8,
    }
    assert found["nodes"][4] == {
        "name": "a5",
        "resource": GPU,
        "instance": "p5.48xlarge",
        "each": 8,
        "gpus": 8,
        "inUse": 0,
        "free": 0,
        "why": [f"{HEALTH}=ERR, NoSchedule"],
        "taints": [],
    }
    assert "inQueues" not in found


def test_a_member_who_may_not_read_pods_sees_what_queues_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ReadOnlyCluster(OBJECTS, forbidden=["pods"])
    code, out, err = nodes(monkeypatch, cluster=cluster)
    assert code == 0
    assert out.splitlines()[:5] == [
        "RESOURCE        EACH  INSTANCE     NODES  BAD  GPUS  USED  FREE  BLOCK",
        f"{GPU}     8  p5.48xlarge      6    4    47     -     -      -",
        f"{GPU}     1  g6.xlarge        1    0     1     -     -      -",
        "-                  -  -                1    1     -     -     -      -",
        "",
    ]
    lines = out.splitlines()
    assert lines[5:7] == [
        "GPUs of the workloads that Kueue's queues admitted: 18",
        "GPUs of good nodes: 24",
    ]
    assert err == (
        "warning: not known: USED, FREE, BLOCK (pods of all namespaces): no right to list them."
        " An admin can grant it: docs/users/nodes.md\n"
    )
    found = json.loads(nodes(monkeypatch, "-o", "json", cluster=cluster)[1])
    assert (found["inQueues"], found["schedulable"]) == (18, 24)
    assert "free" not in found["shapes"][0]


def test_without_the_right_to_read_nodes_it_names_the_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ReadOnlyCluster(OBJECTS, forbidden=["nodes"])
    assert nodes(monkeypatch, cluster=cluster) == (
        2,
        "",
        "error: you lack a right that nodes needs, to read the nodes. Ask a cluster admin\n",
    )


def test_the_configuration_names_the_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resource that a device plugin no longer offers is a bad node, and no node without GPUs."""
    configured = operator_config("appwrapper: {countedResources: [amd.com/gpu]}\n")
    node = gpu_node("m1", gpus=0)
    del node["status"]["capacity"][GPU], node["status"]["allocatable"][GPU]
    node["status"]["capacity"]["amd.com/gpu"] = node["status"]["allocatable"]["amd.com/gpu"] = "0"
    code, out, _ = nodes(monkeypatch, cluster=ReadOnlyCluster([configured, node]))
    assert code == 0
    assert out.splitlines()[1:] == [
        "amd.com/gpu     0  -             1    1     0     0     0      0",
        "",
        "Bad nodes",
        "  no device of amd.com/gpu is registered: m1",
    ]


def test_no_line_is_wider_than_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    for width in range(20, 120, 9):
        lines = nodes(monkeypatch, columns=width)[1].splitlines()
        assert max(map(len, lines)) <= width
        assert all(line == line.rstrip() for line in lines)
