"""Builds a cluster as admins of teams see it: nodes, a flavor, the roles, and perhaps teams."""

from copy import deepcopy

from shared.api.objects import JsonObject
from tests.support.builders.nodes import raw_node
from tests.support.builders.queues import operator_config
from tests.support.manifests import TEAM, documents

GPU = "nvidia.com/gpu"
AMOUNTS = {"cpu": "80", "memory": "1100Gi", GPU: "8", "nvidia.com/roce_gdr": "2", "pods": "110"}
# The value of --quota for the quota of deploy/team/team1.yaml.
TEAM1_QUOTA = ("cpu=640", "memory=8800Gi", f"{GPU}=64", "nvidia.com/roce_gdr=16", "pods=800")


def gpu_nodes(count: int) -> list[JsonObject]:
    """Nodes of 8 GPUs each."""
    return [
        {"kind": "Node", **raw_node(f"node-{number}", allocatable=AMOUNTS, capacity=AMOUNTS)}
        for number in range(1, count + 1)
    ]


def what_teams_share() -> list[JsonObject]:
    """Reads deploy/team/cluster.yaml and the policy for teams with RDMA.

    With an operator that is configured as in overlay mlbatch.
    """
    configured = operator_config("appwrapper: {userRBACAdmissionCheck: false}\n")
    return [
        *documents(TEAM / "cluster.yaml"),
        *documents(TEAM / "pod-security.yaml"),
        configured,
    ]


def team(name: str, *, gpus: int = 64) -> list[JsonObject]:
    """Builds deploy/team/team1.yaml for another team, with other GPUs."""
    made = []
    for each in documents(TEAM / "team1.yaml"):
        renamed = _renamed(deepcopy(each), name)
        if renamed["kind"] == "ClusterQueue":
            for quota in renamed["spec"]["resourceGroups"][0]["flavors"][0]["resources"]:
                if quota["name"] == GPU:
                    quota["nominalQuota"] = gpus
        made.append(renamed)
    return made


def _renamed(value: object, name: str) -> JsonObject:
    def walk(each: object) -> object:
        if isinstance(each, dict):
            return {key: walk(one) for key, one in each.items()}
        if isinstance(each, list):
            return [walk(one) for one in each]
        return each.replace("team1", name) if isinstance(each, str) else each

    found = walk(value)
    assert isinstance(found, dict)
    return found
