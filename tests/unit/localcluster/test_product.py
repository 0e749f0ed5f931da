"""What is changed in the manifests so that they fit programs on this machine."""

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from localcluster import product, team
from localcluster.access.options import ClusterOptions
from localcluster.access.running import OwnedCluster, RunningCluster
from localcluster.machine.errors import LocalClusterError
from localcluster.product import Product
from shared.api.objects import JsonObject

RENDERED: list[JsonObject] = [
    {
        "kind": "Service",
        "metadata": {"name": "appwrapper-webhook-service"},
        "spec": {"selector": {"a": "b"}, "ports": [{"port": 443}]},
    },
    {"kind": "Service", "metadata": {"name": "metrics"}, "spec": {"ports": [{"port": 1}]}},
    {"kind": "Deployment", "metadata": {"name": "appwrapper-webhook"}},
    {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"config.yaml": "a: 1\n"}},
    {
        "kind": "MutatingWebhookConfiguration",
        "webhooks": [
            {
                "clientConfig": {"service": {"name": "s", "port": 443, "path": "/mutate"}},
                "rules": [],
            }
        ],
    },
]


class FakeCluster:
    """What Product and the team take from a cluster, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.directory = folder
        self.kubectl = folder / "kubectl"
        self.ports = SimpleNamespace(reserve=lambda: 20_001)
        self.options = ClusterOptions(nodes=3, gpus_per_node=5)
        self.modules = {"coscheduler": folder / "module"}
        self.applied: list[JsonObject] = []

    def kubectl_says(self, text: str, code: int = 0) -> None:
        (self.directory / "answer").write_text(text)
        self.kubectl.write_text(f"#!/bin/sh\ncat {self.directory}/answer\nexit {code}\n")
        self.kubectl.chmod(0o755)

    async def apply(self, documents: list[JsonObject]) -> list[JsonObject]:
        self.applied += documents
        return documents


@pytest.fixture
def cluster(tmp_path: Path) -> FakeCluster:
    return FakeCluster(tmp_path)


def product_of(cluster: FakeCluster) -> Any:
    """The product, with its inner steps open to the test."""
    return Product(cast(OwnedCluster, cluster))


async def test_webhooks_lead_here_and_what_needs_real_nodes_is_left_out(
    cluster: FakeCluster,
) -> None:
    cluster.kubectl_says(yaml.safe_dump_all(RENDERED))
    expected = copy.deepcopy([RENDERED[0], RENDERED[1], RENDERED[3], RENDERED[4]])
    expected[0]["spec"] = {"type": "ExternalName", "externalName": "localhost"}
    expected[3]["webhooks"][0]["clientConfig"]["service"]["port"] = 20_001
    assert await product_of(cluster)._render() == expected


async def test_overlay_that_does_not_render_is_named(cluster: FakeCluster) -> None:
    cluster.kubectl_says("error: no such file", code=1)
    with pytest.raises(LocalClusterError) as caught:
        await product_of(cluster)._render()
    assert str(caught.value).endswith("overlays/default` failed: error: no such file")


def test_configuration_is_the_config_maps() -> None:
    assert product._configuration_in(RENDERED) == {"a": 1}
    empty = [{"kind": "ConfigMap", "data": {"config.yaml": "# all defaults\n"}}]
    assert product._configuration_in(empty) == {}
    with pytest.raises(LocalClusterError, match=r"holds no ConfigMap with the key config.yaml\.$"):
        product._configuration_in(RENDERED[:3])


async def test_team_has_as_many_gpus_as_the_nodes(cluster: FakeCluster) -> None:
    crds = cluster.modules["coscheduler"] / "config/crd/bases"
    crds.mkdir(parents=True)
    (crds / "scheduling.x-k8s.io_podgroups.yaml").write_text("kind: PodGroups\n")
    await team.set_up(cast(RunningCluster, cluster))
    (queue,) = [each for each in cluster.applied if each["kind"] == "ClusterQueue"]
    (flavor,) = queue["spec"]["resourceGroups"][0]["flavors"]
    quota = {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
    assert queue["metadata"]["name"] == "team1-cluster-queue"
    assert quota["nvidia.com/gpu"] == 15
    assert quota["pods"] == 800
    assert {each["kind"] for each in cluster.applied} >= {"Namespace", "LocalQueue", "PodGroups"}
