"""Simulated nodes, and which of them KWOK plays."""

from ipaddress import IPv4Network

from localcluster.installers.kwok import PODS, configuration, node
from localcluster.realnode.subnets import SLOTS, Subnets


def test_a_node_offers_what_it_was_asked_for() -> None:
    made = node(2, gpus=4)

    resources = {
        "cpu": "80",
        "memory": "1100Gi",
        "nvidia.com/gpu": "4",
        "nvidia.com/roce_gdr": "2",
        "pods": "250",
    }
    assert made == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "gpu-node-3",
            "labels": {
                "kubernetes.io/hostname": "gpu-node-3",
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": [
                {"type": "InternalIP", "address": "10.200.0.2"},
                {"type": "Hostname", "address": "gpu-node-3"},
            ],
        },
    }


def test_beside_a_real_node_only_pods_that_tolerate_it_come_to_a_simulated_one() -> None:
    taints = [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]
    assert node(2, gpus=4, tainted=True) == node(2, gpus=4) | {"spec": {"taints": taints}}


def test_no_two_of_5000_nodes_share_an_address() -> None:
    addresses = {node(number, 8)["status"]["addresses"][0]["address"] for number in range(5000)}
    assert len(addresses) == 5000


def test_it_plays_fake_nodes_whose_heartbeat_was_not_stopped() -> None:
    options = configuration("127.0.0.1:20247", nodes=8)["options"]

    assert options["manageNodesWithAnnotationSelector"] == "kwok.x-k8s.io/node=fake"
    assert options["manageNodesWithLabelSelector"] == (
        "simulation.localcluster.dev/heartbeat!=stopped"
    )
    assert options["serverAddress"] == "127.0.0.1:20247"


def test_many_nodes_renew_their_leases_half_as_often() -> None:
    assert configuration("", nodes=100)["options"]["nodeLeaseDurationSeconds"] == 20
    assert configuration("", nodes=101)["options"]["nodeLeaseDurationSeconds"] == 40


def test_simulated_addresses_are_unique() -> None:
    real = [Subnets.of(slot).whole for slot in SLOTS]
    nodes = {each["address"] for each in node(4999, 8)["status"]["addresses"][:1]}
    assert nodes == {"10.200.19.135"}
    for simulated in (IPv4Network(PODS), IPv4Network("10.200.0.0/16")):
        assert not any(simulated.overlaps(each) for each in real)
