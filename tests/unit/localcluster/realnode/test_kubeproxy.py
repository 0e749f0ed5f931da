from ipaddress import IPv4Network
from pathlib import Path

from localcluster.realnode.kubeproxy import configuration


def test_the_machines_connection_tracking_stays_as_it_is() -> None:
    settings = configuration(Path("/c/kubeconfig"), "198.18.0.2", IPv4Network("198.18.1.0/24"))
    assert settings["conntrack"] == {
        "maxPerCore": 0,
        "min": 0,
        "tcpEstablishedTimeout": "0s",
        "tcpCloseWaitTimeout": "0s",
    }


def test_only_pods_count_as_inside() -> None:
    settings = configuration(Path("/c/kubeconfig"), "198.18.0.2", IPv4Network("198.18.1.0/24"))
    assert (settings["mode"], settings["clusterCIDR"]) == ("iptables", "198.18.1.0/24")
    assert settings["detectLocalMode"] == "ClusterCIDR"
    assert settings["healthzBindAddress"] == "198.18.0.2:10256"
